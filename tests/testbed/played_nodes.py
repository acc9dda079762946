#!/usr/bin/python3
"""played_nodes.py KUBECONFIG COUNT GPUS: COUNT nodes "played-0"... whose pods run on paper only.

Each node has GPUS `nvidia.com/gpu` and keeps itself Ready. Each pod on it turns Running with an IP of its own, and goes on for ever
unless its annotations say otherwise:

  played/start: SECONDS   it spends this long in ContainerCreating
  played/run: SECONDS     it ends by itself after this long, with
  played/exit: CODE       this exit code (0)
  played/evict: SECONDS   it is evicted after this long: Failed, reason Evicted
  played/stuck: REASON    it stays Pending, waiting for this reason, e.g. ImagePullBackOff
  played/reject: REASON   the node refuses it: Failed at once for this reason, e.g. UnexpectedAdmissionError
  played/term: CODE       its exit code once it is deleted, i.e. on SIGTERM (143), and
  played/grace: SECONDS   how long it takes to get there (0)

A node object that is deleted, or annotated `played/gone: "true"`, is a machine that is gone: no heartbeats, and nothing more is heard
of its pods. Without the annotation it is back. Any further node that is created with such a name is played, too.

Containers are not started again, whatever a pod's restart policy.
"""

import calendar
import collections
import heapq
import http.client
import itertools
import json
import queue
import ssl
import sys
import threading
import time
import urllib.parse

HEARTBEAT_SECONDS = 10  # The controller manager wants one within 40.
RETRY_SECONDS = 1
LONGEST_WAIT_SECONDS = 30  # Whoever waits for longer looks again whether its pod is still there.
WORKERS = 6
PREFIX = "played-"
UNREACHABLE = (OSError, http.client.HTTPException, ValueError)


def now(fraction=""):
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime()) + fraction + "Z"


class Api:
    """The API server, over one connection for each thread."""

    def __init__(self, kubeconfig):
        with open(kubeconfig) as file:
            config = json.load(file)
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        self._url = urllib.parse.urlparse(cluster["server"])
        self._tls = ssl.create_default_context(cafile=cluster["certificate-authority"])
        self._tls.load_cert_chain(user["client-certificate"], user["client-key"])
        self._local = threading.local()

    def connect(self, timeout):
        return http.client.HTTPSConnection(self._url.hostname, self._url.port, context=self._tls, timeout=timeout)

    def call(self, method, path, body=None):
        """Status code and answer. Raises one of UNREACHABLE where there is none."""
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        connection = getattr(self._local, "connection", None) or self.connect(timeout=30)
        self._local.connection = None  # Only what ended well is used again.
        connection.request(method, path, body and json.dumps(body), {"Content-Type": kind})
        response = connection.getresponse()
        answer = json.loads(response.read() or "{}")
        self._local.connection = connection
        return response.status, answer


class Agenda:
    """What is to be done, and when. A task that finds no API server, or a busy one, is done again a little later."""

    def __init__(self):
        self._tasks, self._order, self._changed = [], itertools.count(), threading.Condition()
        self._due = queue.SimpleQueue()
        for body in [self._keep_time] + [self._work] * WORKERS:
            threading.Thread(target=body, daemon=True).start()

    def after(self, seconds, task, *arguments):
        with self._changed:
            heapq.heappush(self._tasks, (time.monotonic() + seconds, next(self._order), task, arguments))
            self._changed.notify()

    def _keep_time(self):
        with self._changed:
            while True:
                wait = self._tasks[0][0] - time.monotonic() if self._tasks else None
                if wait is not None and wait <= 0:
                    self._due.put(heapq.heappop(self._tasks)[2:])
                else:
                    self._changed.wait(wait)

    def _work(self):
        while True:
            task, arguments = self._due.get()
            try:
                status = task(*arguments)
                again = status is not None and (status == 409 or status == 429 or status >= 500)
            except UNREACHABLE:
                again = True
            if again:
                self.after(RETRY_SECONDS, task, *arguments)


def watch(api, path, replace, change):
    """Follows a kind of object for ever: replace(objects) with all of them, then change(type, object) for each event."""
    while True:
        try:
            status, answer = api.call("GET", path)
            if status != 200:
                raise OSError(status)
            replace(answer["items"])
            connection = api.connect(timeout=400)
            separator = "&" if "?" in path else "?"
            version = answer["metadata"]["resourceVersion"]
            connection.request("GET", f"{path}{separator}watch=1&timeoutSeconds=300&resourceVersion={version}")
            response = connection.getresponse()
            if response.status != 200:
                raise OSError(response.status)
            while line := response.readline():
                event = json.loads(line)
                if event["type"] == "ERROR":
                    break
                change(event["type"], event["object"])
            connection.close()
        except UNREACHABLE:
            time.sleep(RETRY_SECONDS)


class Nodes:
    """The machines: those that are there, each with a heartbeat."""

    def __init__(self, api, agenda, gpus):
        self._api, self._agenda, self._gpus = api, agenda, gpus
        self._addresses = {}  # Of the nodes that are there, by name.
        self._beating = set()
        self._number = itertools.count(1)
        self._lock = threading.Lock()

    def address(self, name):
        """None where this node is not played, or gone."""
        return self._addresses.get(name)

    def create(self, name):
        labels = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
        status, _ = self._api.call("POST", "/api/v1/nodes", {"metadata": {"name": name, "labels": labels}})
        return None if status == 409 else status  # It may be there from before.

    def replace(self, nodes):
        with self._lock:
            for name in set(self._addresses) - {node["metadata"]["name"] for node in nodes}:
                del self._addresses[name]
        for node in nodes:
            self.change("MODIFIED", node)

    def change(self, kind, node):
        name = node["metadata"]["name"]
        if not name.startswith(PREFIX):
            return
        gone = kind == "DELETED" or node["metadata"].get("annotations", {}).get("played/gone") == "true"
        ready = any(c["type"] == "Ready" and c["status"] == "True" for c in node["status"].get("conditions", []))
        with self._lock:
            if gone:
                self._addresses.pop(name, None)
                return
            number = next(self._number)
            known = [a["address"] for a in node["status"].get("addresses", []) if a["type"] == "InternalIP"]
            self._addresses.setdefault(name, known[0] if known else f"10.250.{number >> 8 & 255}.{number & 255}")
            first_beat = name not in self._beating
            self._beating.add(name)
        if first_beat:
            self._agenda.after(0, self._beat, name)
        if not ready:
            self._agenda.after(0, self._report, name)

    def _report(self, name):
        address = self.address(name)
        if not address:
            return None
        room = {"cpu": "64", "memory": "256Gi", "pods": "110", "ephemeral-storage": "1Ti", "nvidia.com/gpu": self._gpus}
        ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "played",
                 "lastHeartbeatTime": now(), "lastTransitionTime": now()}
        return self._api.call("PATCH", f"/api/v1/nodes/{name}/status", {"status": {
            "capacity": room, "allocatable": room, "conditions": [ready], "nodeInfo": {"kubeletVersion": "v1.20.2-played"},
            "addresses": [{"type": "InternalIP", "address": address}, {"type": "Hostname", "address": name}]}})[0]

    def _beat(self, name):
        with self._lock:
            if name not in self._addresses:
                self._beating.discard(name)
                return None
        leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
        spec = {"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": now(".000000")}
        status, _ = self._api.call("PATCH", f"{leases}/{name}", {"spec": spec})
        if status == 404:
            status, _ = self._api.call("POST", leases, {"metadata": {"name": name, "namespace": "kube-node-lease"}, "spec": spec})
        if status < 300:
            self._agenda.after(HEARTBEAT_SECONDS, self._beat, name)
            return None
        return max(status, 500)  # Whatever it was: a heart goes on.


class Pod:
    """What has to be remembered of one; forgotten as soon as it is deleted."""

    def __init__(self, pod, ip):
        meta = pod["metadata"]
        self.path = f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}"
        self.uid, self.node, self.ip = meta["uid"], pod["spec"]["nodeName"], ip
        self.annotations = {k: v for k, v in meta.get("annotations", {}).items() if k.startswith("played/")}
        self.containers = [(c["name"], c["image"]) for c in pod["spec"]["containers"]]
        self.scheduled = [c for c in pod["status"].get("conditions", []) if c["type"] == "PodScheduled"]
        self.began = pod["status"].get("startTime") or now()
        self.phase = pod["status"]["phase"]
        self.stopping = False

    def number(self, key, default):
        """An annotation that is no number counts as absent: a typing error stops nobody else's pods."""
        try:
            return min(max(0, float(self.annotations["played/" + key])), 1e9)
        except (KeyError, ValueError):
            return default


class Pods:
    """The pods on our nodes, and their ways."""

    def __init__(self, api, agenda, nodes):
        self._api, self._agenda, self._nodes = api, agenda, nodes
        self._pods = {}  # By uid.
        self._ips = collections.Counter()
        self._number = itertools.count(1)
        self._lock = threading.Lock()

    def replace(self, pods):
        with self._lock:
            for uid in set(self._pods) - {pod["metadata"]["uid"] for pod in pods}:
                self._forget(uid)
        for pod in pods:
            self.change("MODIFIED", pod)

    def change(self, kind, seen):
        uid = seen["metadata"]["uid"]
        with self._lock:
            if kind == "DELETED":
                self._forget(uid)
                return
            if not seen["spec"]["nodeName"].startswith(PREFIX):
                return
            pod, first = self._pods.get(uid), uid not in self._pods
            if first:
                pod = self._pods[uid] = Pod(seen, self._choose_ip(seen["status"].get("podIP")))
            stop = "deletionTimestamp" in seen["metadata"] and not pod.stopping
            pod.stopping = pod.stopping or stop
        if stop:
            allowed = seen["metadata"].get("deletionGracePeriodSeconds", 30)
            self._plan(pod, min(pod.number("grace", 0), allowed), self._stop)
        elif first and pod.phase == "Pending":
            self._plan(pod, 0, self._accept)
        elif first and pod.phase == "Running":  # It ran before this program did.
            ran = time.time() - calendar.timegm(time.strptime(pod.began, "%Y-%m-%dT%H:%M:%SZ"))
            self._plan_end(pod, ran)

    def _forget(self, uid):
        if pod := self._pods.pop(uid, None):
            self._ips[pod.ip] -= 1
            if not self._ips[pod.ip]:
                del self._ips[pod.ip]

    def _choose_ip(self, has):
        ip = has
        while not ip or (not has and ip in self._ips):
            number = next(self._number)
            ip = f"10.251.{number >> 8 & 255}.{number & 255}"
        self._ips[ip] += 1
        return ip

    def _plan(self, pod, seconds, step):
        self._wait(pod, time.monotonic() + seconds, step)

    def _wait(self, pod, due, step):
        left = due - time.monotonic()
        if left > 0:
            if pod.uid in self._pods:
                self._agenda.after(min(left, LONGEST_WAIT_SECONDS), self._wait, pod, due, step)
        else:
            self._agenda.after(0, self._take, pod, step)

    def _take(self, pod, step):
        """One step of a pod that is still there. A machine that is gone and comes back goes on where it was."""
        if pod.uid not in self._pods:
            return None
        if not self._nodes.address(pod.node):
            self._agenda.after(RETRY_SECONDS, self._take, pod, step)
            return None
        return step(pod)

    def _accept(self, pod):
        if pod.stopping:
            return None
        if reason := pod.annotations.get("played/reject"):
            return self._write(pod, "Failed", reason=reason, message="Pod was rejected: played/reject")
        if reason := pod.annotations.get("played/stuck"):
            return self._write(pod, "Pending", {"waiting": {"reason": reason, "message": f"played/stuck: {reason}"}})
        delay = pod.number("start", 0)
        if delay:
            status = self._write(pod, "Pending", {"waiting": {"reason": "ContainerCreating"}})
            if status != 200:
                return status
        self._plan(pod, delay, self._begin)
        return None

    def _begin(self, pod):
        if pod.stopping:
            return None
        pod.began = now()
        status = self._write(pod, "Running", {"running": {"startedAt": pod.began}})
        if status == 200:
            self._plan_end(pod, 0)
        return status

    def _plan_end(self, pod, ran):
        for key, step in (("run", self._end), ("evict", self._evict)):
            seconds = pod.number(key, None)
            if seconds is not None:
                self._plan(pod, seconds - ran, step)

    def _end(self, pod):
        if pod.phase != "Running":
            return None
        return self._exit(pod, int(pod.number("exit", 0)))

    def _evict(self, pod):
        if pod.phase != "Running":
            return None
        return self._write(pod, "Failed", reason="Evicted", message="The node was low on resource: memory.")

    def _stop(self, pod):
        if pod.phase == "Running":
            status = self._exit(pod, int(pod.number("term", 143)))
            if status >= 500 or status in (409, 429):
                return status
        return self._api.call("DELETE", pod.path, {"gracePeriodSeconds": 0, "preconditions": {"uid": pod.uid}})[0]

    def _exit(self, pod, code):
        return self._write(pod, "Failed" if code else "Succeeded", {"terminated": {
            "exitCode": code, "reason": "Error" if code else "Completed", "startedAt": pod.began, "finishedAt": now()}})

    def _write(self, pod, phase, state=None, reason=None, message=None):
        """The whole status anew; without a state there are no containers, as after an eviction."""
        up = phase == "Running"
        has_ip = state and state.get("waiting", {}).get("reason") != "ContainerCreating"
        conditions = pod.scheduled + [
            {"type": kind, "status": "True" if good else "False", "lastTransitionTime": now()}
            for kind, good in (("Initialized", True), ("Ready", up), ("ContainersReady", up)) if state]
        containers = [{"name": name, "image": image, "imageID": "played" if has_ip else "", "ready": up, "started": up, "restartCount": 0,
                       "containerID": "" if "waiting" in state else f"played://{pod.uid}/{name}", "state": state}
                      for name, image in pod.containers] if state else None
        status, _ = self._api.call("PATCH", pod.path + "/status", {"metadata": {"uid": pod.uid}, "status": {
            "phase": phase, "reason": reason, "message": message, "startTime": pod.began, "hostIP": self._nodes.address(pod.node),
            "podIP": pod.ip if has_ip else None, "podIPs": [{"ip": pod.ip}] if has_ip else None,
            "conditions": conditions, "containerStatuses": containers}})
        if status == 200:
            pod.phase = phase
        return status


def main():
    api, agenda = Api(sys.argv[1]), Agenda()
    nodes = Nodes(api, agenda, gpus=sys.argv[3])
    pods = Pods(api, agenda, nodes)
    for number in range(int(sys.argv[2])):
        agenda.after(0, nodes.create, f"{PREFIX}{number}")
    threading.Thread(target=watch, args=(api, "/api/v1/nodes", nodes.replace, nodes.change), daemon=True).start()
    watch(api, "/api/v1/pods?fieldSelector=" + urllib.parse.quote("spec.nodeName!="), pods.replace, pods.change)


if __name__ == "__main__":
    main()
