# shellcheck shell=bash
# Real nodes: kubelet, containerd, runc, CNI and kube-proxy in a network and a mount namespace of their own. Part of `cluster`.
# shellcheck disable=SC2154,SC2034
#
# Node I has the address 10.99.0.(10+I) on a bridge of this machine, where the API server listens, too (10.99.0.1); its pods have
# 10.244.I.0/24. The bridge is made first and removed last, and its alias names the cluster's folder: so it tells whose the
# namespaces and cgroups are, and that a machine has one such cluster at a time.
bridge=adaptdl-testbed
bridge_address=10.99.0.1
node_prefix=adaptdl-real- # Of network namespaces and cgroups.

# Why there can be no real nodes here; nothing where there can.
obstacle_to_real_nodes() {
  local program
  [ "$(id -u)" -eq 0 ] || { echo "they need root" && return; }
  for program in containerd runc ctr ip iptables conntrack busybox gcc nsenter unshare /usr/lib/cni/bridge; do
    command -v $program >/dev/null || { echo "they need $program" && return; }
  done
  [ -d /sys/fs/cgroup/memory ] || { echo "kubelet 1.20 needs cgroup v1, which this machine has not" && return; }
  unshare --mount --net true 2>/dev/null || { echo "this machine allows no namespaces" && return; }
  case $dir/ in /run/* | /var/lib/* | /var/log/*) echo "nodes have their own ${dir%"${dir#/*/*/}"} and would not see $dir" && return ;; esac
  if [ -e "/sys/class/net/$bridge" ]; then
    echo "a machine has room for one cluster with real nodes, and one is in $(cat "/sys/class/net/$bridge/ifalias")"
  elif ip route show to match "$bridge_address" | grep -qv '^default'; then
    echo "10.99.0.0/16 is in use"
  fi
}

# Sets `real`, where the user left it open, and the address that goes with it.
decide_real() {
  local obstacle
  if [ -n "$only_api" ] || [ "$nodes" = 0 ]; then real=0; fi
  [ "$real" != 0 ] || return 0
  obstacle=$(obstacle_to_real_nodes)
  if [ -z "$obstacle" ]; then
    real=${real:-1} address=$bridge_address
  else
    [ -z "$real" ] || die "no real nodes: $obstacle"
    say "all nodes are played: $obstacle"
    real=0
  fi
}

make_network() {
  ip link add "$bridge" type bridge
  ip link set "$bridge" alias "$dir" up
  ip addr add "$bridge_address/16" dev "$bridge"
}

# ---- Images

# make_image NAME FOLDER COMMAND: DIR/images/FOLDER, packed for `ctr images import`.
make_image() {
  local root=$dir/images/$2 parts=$dir/images/$2.parts
  mkdir "$parts"
  tar -C "$root" --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -cf "$parts/layer.tar" .
  cat >"$parts/config.json" <<END
{"architecture": "$(dpkg --print-architecture)", "os": "linux", "config": {"Env": ["PATH=/usr/sbin:/usr/bin:/sbin:/bin"], "Cmd": ["$3"]},
 "rootfs": {"type": "layers", "diff_ids": ["sha256:$(sha256sum <"$parts/layer.tar" | cut -d' ' -f1)"]}}
END
  echo '[{"Config": "config.json", "RepoTags": ["'"$1"'"], "Layers": ["layer.tar"]}]' >"$parts/manifest.json"
  tar -C "$parts" -cf "$root.tar" manifest.json config.json layer.tar
  rm -r "$parts" "$root"
}

# What kubelet needs for every pod, and busybox with bash and curl for the tests.
make_images() {
  local program applet tools=$dir/images/tools
  mkdir -p "$dir/images/pause" "$tools/bin" "$tools/usr/bin"
  mkdir -m 1777 "$tools/tmp"
  gcc -Os -static -s -o "$dir/images/pause/pause" "$bin/pause.c"
  cp "$(command -v busybox)" "$tools/bin/busybox"
  for applet in $(busybox --list); do [ "$applet" = busybox ] || ln -s busybox "$tools/bin/$applet"; done
  for program in bash curl; do
    cp --remove-destination "$(command -v $program)" "$tools/bin/"
    ldd "$(command -v $program)" | grep -o '/[^ ]*' | xargs -I{} cp -L --parents {} "$tools"
  done
  make_image docker.io/test/pause:1 pause /pause
  make_image docker.io/test/tools:1 tools sh
}

# ---- One node

write_containerd_settings() {
  # An overlay cannot lie on an overlay.
  local snapshotter=overlayfs
  [ "$(stat -f -c %T "$folder")" != overlayfs ] || snapshotter=native
  cat >"$folder/cni/10-bridge.conflist" <<END
{"cniVersion": "0.4.0", "name": "pods", "plugins": [{"type": "bridge", "bridge": "cni0", "isGateway": true, "hairpinMode": true,
 "ipMasq": false, "ipam": {"type": "host-local", "ranges": [[{"subnet": "10.244.$number.0/24"}]], "routes": [{"dst": "0.0.0.0/0"}]}}]}
END
  cat >"$folder/containerd.toml" <<END
version = 2
root = "$folder/root"
state = "$folder/state"
[grpc]
address = "$folder/containerd.sock"
[plugins."io.containerd.internal.v1.opt"]
path = "$folder/opt"
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "docker.io/test/pause:1"
restrict_oom_score_adj = true
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "/usr/lib/cni"
conf_dir = "$folder/cni"
[plugins."io.containerd.grpc.v1.cri".containerd]
snapshotter = "$snapshotter"
END
}

write_kubelet_settings() {
  cat >"$folder/kubelet.yaml" <<END
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: $node_address
tlsCertFile: $dir/$node.crt
tlsPrivateKeyFile: $dir/$node.key
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: $dir/ca.crt}}
authorization: {mode: Webhook}
cgroupDriver: cgroupfs
cgroupRoot: /$namespace
failSwapOn: false
healthzPort: 0
readOnlyPort: 0
resolvConf: $folder/resolv.conf
volumePluginDir: $folder/plugins
evictionHard: {memory.available: 100Mi, nodefs.available: 1%}
imageGCHighThresholdPercent: 100
END
}

make_node() {
  local other hierarchy file
  mkdir -p "$folder"/{cni,run/netns,lib,log,sys,tmp}
  : >"$folder/resolv.conf"
  ip netns add "$namespace"
  ip link add "$veth" type veth peer name eth0 netns "$namespace"
  ip link set "$veth" master "$bridge" up
  ip -n "$namespace" addr add "$node_address/16" dev eth0
  ip -n "$namespace" link set eth0 up
  ip -n "$namespace" link set lo up
  ip -n "$namespace" route add 10.96.0.0/16 dev eth0
  ip route replace "10.244.$number.0/24" via "$node_address"
  for ((other = 0; other < real; other++)); do
    [ "$other" = "$number" ] || ip -n "$namespace" route add "10.244.$other.0/24" via "10.99.0.$((10 + other))"
  done
  for hierarchy in /sys/fs/cgroup/*/; do
    mkdir -p "$hierarchy$namespace"
    if [ -e "${hierarchy}cpuset.cpus" ]; then
      for file in cpuset.cpus cpuset.mems; do cat "$hierarchy$file" >"$hierarchy$namespace/$file"; done
    fi
  done
  make_user "$node" "/O=system:nodes/CN=system:node:$node" "DNS:$node,IP:$node_address"
  write_containerd_settings
  write_kubelet_settings
}

# A node has folders of its own where kubelet and containerd insist on theirs, and kubelet's idea of kernel settings, which are the
# whole machine's, ends in files of the node.
start_containerd() {
  # shellcheck disable=SC2016
  run "$node-containerd" nsenter --net="/run/netns/$namespace" unshare --mount bash -euc '
    mount --make-rprivate /
    mount --bind "$1/run" /run
    mount --bind "$1/lib" /var/lib
    mount --bind "$1/log" /var/log
    for setting in vm/overcommit_memory vm/panic_on_oom kernel/panic kernel/panic_on_oops kernel/keys/root_maxkeys kernel/keys/root_maxbytes; do
      cat "/proc/sys/$setting" >"$1/sys/${setting##*/}"
      mount --bind "$1/sys/${setting##*/}" "/proc/sys/$setting"
    done
    mount --make-rshared /
    echo 1 >/proc/sys/net/ipv4/ip_forward
    TMPDIR=$1/tmp exec containerd -c "$1/containerd.toml"' - "$folder"
  wait_for "$node-containerd" ctr -a "$folder/containerd.sock" version
  for image in "$dir"/images/*.tar; do
    ctr -a "$folder/containerd.sock" -n k8s.io images import "$image" >/dev/null || die "containerd did not take $image"
  done
}

# run_in_node PART COMMAND...: in the namespaces that containerd has.
run_in_node() {
  local part=$1
  shift
  run "$part" nsenter --target "$(pid_of "$node-containerd")" --mount --net "$@"
}

start_kubelet() {
  rm -f "$folder/lib/kubelet/device-plugins/kubelet.sock"
  run_in_node "$node-kubelet" env AWS_EC2_METADATA_DISABLED=true "$bin/kubelet" --config "$folder/kubelet.yaml" \
    --kubeconfig "$dir/$node.conf" --hostname-override "$node" --node-ip "$node_address" \
    --container-runtime remote --container-runtime-endpoint "unix://$folder/containerd.sock"
  wait_for "$node-kubelet" test -S "$folder/lib/kubelet/device-plugins/kubelet.sock"
  stop_part "$node-gpus" # It introduces itself once, to this kubelet.
  [ "$gpus" = 0 ] || start_gpus
}

start_gpus() { run_in_node "$node-gpus" env GPUS="$gpus" "$bin/fake-gpu" "$folder/"; }

start_proxy() {
  run_in_node "$node-proxy" "$bin/kube-proxy" --kubeconfig "$dir/kube-proxy.conf" --hostname-override "$node" \
    --cluster-cidr 10.244.0.0/16 --proxy-mode iptables --conntrack-max-per-core 0 --bind-address "$node_address"
}

# name_node NUMBER: sets what the functions above call their node by.
name_node() {
  number=$1 node=real-$1 folder=$dir/real-$1 namespace=$node_prefix$1 veth=adaptdl-real$1 node_address=10.99.0.$((10 + $1))
}

start_real_part() { # real-0-kubelet
  [[ $1 =~ ^real-([0-9]+)-(containerd|kubelet|gpus|proxy)$ ]] || die "there is no part '$1'"
  name_node "${BASH_REMATCH[1]}"
  "start_${BASH_REMATCH[2]}"
}

start_real_nodes() {
  local each part
  make_images
  for ((each = 0; each < real; each++)); do
    name_node "$each"
    make_node
    for part in containerd kubelet proxy; do "start_$part"; done
  done
}

# ---- Their end

node_namespaces() { ip netns list | grep -o "^${node_prefix}[0-9]*" || true; }

# Shims are in the nodes' network namespaces; what runs in pods is in their cgroups.
node_processes() {
  local each
  for each in $(node_namespaces); do ip netns pids "$each"; done
  find /sys/fs/cgroup/*/"$node_prefix"* -name cgroup.procs -exec cat {} + 2>/dev/null || true
}

# Everything of a cluster's real nodes that is outside of its folder, as far as it came.
remove_real_nodes() {
  [ -e "/sys/class/net/$bridge" ] || return 0
  local whose each tries=0
  whose=$(cat "/sys/class/net/$bridge/ifalias")
  [ -z "$whose" ] || [ "$whose" = "$dir" ] || return 0
  while each=$(node_processes) && [ -n "$each" ]; do
    # shellcheck disable=SC2086
    kill -KILL $each 2>/dev/null || true
    [ $((tries += 1)) -lt 300 ] || die "these processes of real nodes do not end: $each"
    sleep 0.1
  done
  for each in $(node_namespaces); do ip netns del "$each"; done
  for each in /sys/class/net/adaptdl-real*; do
    [ ! -e "$each" ] || ip link del "${each##*/}" 2>/dev/null || true # It may go with its namespace at this moment.
  done
  # A cgroup is busy for a moment after its last process.
  tries=0
  while each=$(find /sys/fs/cgroup/*/ -mindepth 1 -maxdepth 1 -name "$node_prefix*") && [ -n "$each" ]; do
    # shellcheck disable=SC2086
    find $each -depth -type d -exec rmdir {} + 2>/dev/null || true
    [ $((tries += 1)) -lt 300 ] || die "these cgroups do not go: $each"
    sleep 0.05
  done
  # `ip netns` makes this folder a mount of its own, and keeps it.
  if [ -d /run/netns ] && [ -z "$(ls -A /run/netns)" ] && { ! mountpoint -q /run/netns || umount /run/netns; }; then
    rmdir /run/netns
  fi
  ip link del "$bridge"
}
