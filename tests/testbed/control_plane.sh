# shellcheck shell=bash
# The control plane: certificates, etcd, API server, controller manager, scheduler. Part of `cluster`.
# shellcheck disable=SC2154

url() { echo "https://$address:$api_port"; }

# call PATH [CURL OPTIONS...]: the API server's answer to the administrator.
call() {
  local path=$1
  shift
  curl -sf --max-time 30 --cacert "$dir/ca.crt" --cert "$dir/admin.crt" --key "$dir/admin.key" "$@" "$(url)/$path"
}

kubectl() { "$dir/bin/kubectl" --kubeconfig "$dir/admin.conf" --cache-dir "$dir/kubectl-cache" "$@"; }

# Free just now, and below what the kernel hands out to clients.
choose_ports() {
  local name port
  for name in etcd_port peer_port api_port controller_port scheduler_port; do
    while
      port=$(shuf -i 20000-29999 -n 1)
      (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null
    do :; done
    printf -v "$name" '%s' "$port"
  done
}

# ---- Certificates

make_key() { openssl ecparam -name prime256v1 -genkey -noout -out "$1"; }

# make_certificate NAME SUBJECT [ALTERNATIVE NAMES]: for servers and clients alike.
make_certificate() {
  make_key "$dir/$1.key"
  openssl req -new -key "$dir/$1.key" -subj "$2" |
    openssl x509 -req -days 365 -CA "$dir/ca.crt" -CAkey "$dir/ca.key" -CAcreateserial -out "$dir/$1.crt" 2>/dev/null \
      -extfile <(
        echo "extendedKeyUsage=serverAuth,clientAuth"
        [ -z "${3:-}" ] || echo "subjectAltName=$3"
      )
}

# make_user NAME SUBJECT [ALTERNATIVE NAMES]: a certificate, and a kubeconfig that goes with it.
make_user() {
  [[ $1 =~ ^[a-z0-9-]+$ ]] || die "a user's name is made of a-z, 0-9 and -"
  make_certificate "$@"
  cat >"$dir/$1.conf" <<END
{"apiVersion": "v1", "kind": "Config", "current-context": "testbed",
 "contexts": [{"name": "testbed", "context": {"cluster": "testbed", "user": "$1"}}],
 "clusters": [{"name": "testbed", "cluster": {"server": "$(url)", "certificate-authority": "$dir/ca.crt"}}],
 "users": [{"name": "$1", "user": {"client-certificate": "$dir/$1.crt", "client-key": "$dir/$1.key"}}]}
END
}

make_certificates() {
  local user
  make_key "$dir/ca.key"
  openssl req -x509 -new -key "$dir/ca.key" -days 365 -subj /CN=testbed-ca -out "$dir/ca.crt"
  make_key "$dir/service-accounts.key"
  make_certificate server /CN=kube-apiserver "DNS:localhost,DNS:kubernetes.default.svc,IP:127.0.0.1,IP:$address,IP:10.96.0.1"
  make_user admin /O=system:masters/CN=admin
  for user in kube-controller-manager kube-scheduler kube-proxy; do make_user $user /CN=system:$user; done
}

make_token() {
  [[ ${3:-3600} =~ ^[0-9]+$ ]] || die "seconds are a number"
  call "api/v1/namespaces/$2/serviceaccounts/$1/token" -H 'Content-Type: application/json' --data-binary \
    '{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": '"${3:-3600}"'}}' |
    sed -n 's/.*"token": *"\([^"]*\)".*/\1/p' | grep . || die "no token of $2/$1: is there such a service account? (at least 600 s)"
}

# ---- Parts

start_etcd() {
  local peer=http://127.0.0.1:$peer_port client=http://127.0.0.1:$etcd_port
  run etcd etcd --data-dir "$dir/etcd" --listen-client-urls "$client" --advertise-client-urls "$client" \
    --listen-peer-urls "$peer" --initial-advertise-peer-urls "$peer" --initial-cluster "default=$peer" --logger zap --log-level warn
  wait_for etcd curl -sf "$client/health"
}

start_apiserver() {
  # shellcheck disable=SC2086
  run apiserver "$bin/kube-apiserver" --etcd-servers "http://127.0.0.1:$etcd_port" \
    --bind-address "$address" --advertise-address "$address" --secure-port "$api_port" \
    --tls-cert-file "$dir/server.crt" --tls-private-key-file "$dir/server.key" --client-ca-file "$dir/ca.crt" \
    --authorization-mode Node,RBAC --service-account-issuer https://kubernetes.default.svc \
    --service-account-key-file "$dir/service-accounts.key" --service-account-signing-key-file "$dir/service-accounts.key" \
    --kubelet-client-certificate "$dir/admin.crt" --kubelet-client-key "$dir/admin.key" \
    --kubelet-preferred-address-types InternalIP --service-cluster-ip-range 10.96.0.0/16 --allow-privileged $apiserver_flags
  wait_for apiserver call readyz
}

start_controller-manager() {
  run controller-manager "$bin/kube-controller-manager" --kubeconfig "$dir/kube-controller-manager.conf" --leader-elect=false \
    --bind-address 127.0.0.1 --port 0 --secure-port "$controller_port" --cert-dir "$dir/controller-manager" \
    --use-service-account-credentials --service-account-private-key-file "$dir/service-accounts.key" --root-ca-file "$dir/ca.crt" \
    --cluster-signing-cert-file "$dir/ca.crt" --cluster-signing-key-file "$dir/ca.key"
  wait_for controller-manager curl -sfk "https://127.0.0.1:$controller_port/healthz"
}

start_scheduler() {
  run scheduler "$bin/kube-scheduler" --kubeconfig "$dir/kube-scheduler.conf" --leader-elect=false \
    --bind-address 127.0.0.1 --port 0 --secure-port "$scheduler_port" --cert-dir "$dir/scheduler" --kube-api-qps 1000 --kube-api-burst 2000
  wait_for scheduler curl -sfk "https://127.0.0.1:$scheduler_port/healthz"
}

install_job_resource() {
  call apis/apiextensions.k8s.io/v1/customresourcedefinitions -H 'Content-Type: application/yaml' -o /dev/null \
    --data-binary "@$here/../../crds/adaptdljob.yaml" || die "the API server did not take crds/adaptdljob.yaml"
  wait_for apiserver call apis/adaptdl.petuum.com/v1/adaptdljobs
}

compact() {
  local revision
  ask() { curl -sf --max-time 30 "http://127.0.0.1:$etcd_port/v3/kv/$1" -d "$2"; }
  revision=$(ask range '{"key": "AA=="}' | sed -n 's/.*"revision":"\([0-9]*\)".*/\1/p')
  ask compaction '{"revision": "'"$revision"'", "physical": true}' >/dev/null || die "etcd did not compact at revision '$revision'"
  say "compacted at revision $revision"
}
