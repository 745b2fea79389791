"""Values of the digits recipe that, together, use each part of the chart."""

from rigs.helm import digits_values

SCRAPER = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}
STORE = {"url": "s3://bucket/runs", "secret": "bucket-keys", "endpoint": "http://10.1.2.3:7070", "region": "eu-west-3"}
OFF = {
    "prepare": {"enabled": False},
    "recognizer": {"replicas": 0},
    "networkPolicies": {"enabled": False},
    "priorities": {"create": False},
    "redis": {"secret": "ledger"},
    "storage": {"runs": {"claim": "runs"}},
    "keys": {"enabled": False},
    "autoscaling": {"mode": "none", "rest": False, "each": None},
    "serviceAccount": {"name": "default"},
    "stages": {"each": None},
}
SITE = {
    "pods": {
        "labels": {"azure.workload.identity/use": "true"},
        "annotations": {"sidecar.istio.io/inject": "false"},
        "extraEnv": [{"name": "HTTPS_PROXY", "value": "http://proxy:3128"}],
        "extraVolumes": [{"name": "authorities", "configMap": {"name": "site"}}],
        "extraVolumeMounts": [{"name": "authorities", "mountPath": "/etc/ssl/site", "readOnly": True}],
    },
    "recognizer": {
        "clients": [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "ingress"}}}],
        "ingress": {"host": "speech.example.org", "className": "nginx", "tlsSecret": "speech-tls"},
        "extraEnv": [{"name": "ONLY", "value": "here"}],
        "extraVolumes": [{"name": "only", "emptyDir": {"sizeLimit": "1Mi"}}],
        "extraVolumeMounts": [{"name": "only", "mountPath": "/only"}],
    },
    "networkPolicies": {
        "peers": {"dns": [], "api": [{"ipBlock": {"cidr": "10.0.0.1/32"}}]},
        "egress": [{"to": [{"ipBlock": {"cidr": "10.0.0.2/32"}}], "ports": [{"port": 3128}]}],
    },
}
SETS = {
    "defaults": {},
    "gpus": {"trainer": {"gpus": 2, "ranks": 4, "nodeSelector": {"pool": "gpu"}}},
    "hpa": {"autoscaling": {"mode": "hpa"}},
    "watched": {"metrics": {"podMonitors": True, "scrapers": [SCRAPER], "dashboard": True}},
    "three recognizers": {"recognizer": {"replicas": 3}, "keys": {"mutual": ["coordinator", "recognizer"]}},
    "object storage": {"storage": {"store": STORE}},
    "redis outside": {"redis": {"secret": "ledger", "port": 7777}},
    "a role instead of keys": {
        "storage": {"store": STORE | {"secret": ""}},
        "serviceAccount": {"annotations": {"eks.amazonaws.com/role-arn": "arn:aws:iam::1:role/speech"}},
    },
    "a site's own": SITE,
    "a gateway": {
        "recognizer": {
            "clients": SITE["recognizer"]["clients"],
            "gateway": {"parents": [{"name": "public", "namespace": "gateways"}], "authority": "speech-ca"},
        },
    },
    "redis by url": {"redis": {"url": "redis://:secret@ledger:7777/0"}},
    "mpijob v1": {"trainer": {"launcher": "mpijob", "mpiVersion": "v1", "ranks": 3}},
    "mpijob v2beta1": {"trainer": {"launcher": "mpijob", "mpiVersion": "v2beta1", "ranks": 3}},
    "off": OFF,
}
SERVED = [word for version in ("v1", "v2beta1") for word in ("--api-versions", f"kubeflow.org/{version}/MPIJob")]


def render_set(helm, name, namespace="speech"):
    """Return the manifests of one of the sets by (kind, name)."""
    return helm.render(digits_values(**SETS[name]), *SERVED, namespace=namespace)
