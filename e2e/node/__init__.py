"""A real single node of Kubernetes on this machine, closed in on itself.

etcd, API server, controller-manager, scheduler, kubelet, kube-proxy, containerd, CNI and DNS run in
network, mount and process namespaces of their own: nothing of them touches the machine's network,
and all of them end with the first process. ``python -m e2e.node start | stop | status``.
"""
