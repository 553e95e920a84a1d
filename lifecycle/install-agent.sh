#!/bin/bash
# Installs the Proctor agent on a HyperPod node: offline, idempotent. Called by a lifecycle script or by hand.
#
#   install-agent.sh --cluster NAME --region REGION --table TABLE --report-queue URL [--wakeup-queue URL]
#                    [--role controller|node] [--node NAME] [--instance-id ID] [--dry-run-agent]
#   install-agent.sh --check        says what is missing, changes nothing; status 1 when something is
#   install-agent.sh --uninstall    lets go of every hold first, then removes the agent
#
# The role, node name and instance id are found in HyperPod's resource_config.json when not given.
# Status: 0 done, 1 failed, 2 wrong use, 78 no fitting Python.
set -euo pipefail
umask 077

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly HERE
readonly PREFIX=${PROCTOR_PREFIX:-}
readonly ROOT=$PREFIX/opt/proctor-agent
readonly CONFIG=$PREFIX/etc/proctor/agent.json
readonly STATE=$PREFIX/var/lib/proctor-agent
readonly UNIT=$PREFIX/etc/systemd/system/proctor-agent.service
readonly RESOURCES=${PROCTOR_RESOURCE_CONFIG:-/opt/ml/config/resource_config.json}

say() { printf 'install-agent: %s\n' "$*"; }
fail() { printf 'install-agent: %s\n' "$1" >&2; exit "${2:-1}"; }

find_python() {
    local candidate
    for candidate in "${PROCTOR_PYTHON:-}" python3.13 python3.12 python3.11 python3.10 /usr/bin/python3 python3; do
        [ -n "$candidate" ] || continue
        candidate=$(command -v "$candidate" 2>/dev/null) || continue
        if "$candidate" -I -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
            printf '%s\n' "$candidate"
            return 0
        fi
    done
    return 1
}

has_systemd() { [ -z "$PREFIX" ] && [ -d /run/systemd/system ]; }

verify_bundle() {
    (cd "$1" && sha256sum --check --status proctor-agent.pyz.sha256) \
        || fail "proctor-agent.pyz does not have the hash in proctor-agent.pyz.sha256; copy it again"
}

# Writes the settings only when they differ, so that a second run changes nothing.
write_settings() {
    local python=$1 draft
    mkdir -p "$(dirname "$CONFIG")"
    draft=$(mktemp "$CONFIG.XXXXXX")
    if ! "$python" -I - "$RESOURCES" >"$draft" <<'PYTHON'
import json, os, re, socket, sys

env = os.environ
values = {
    "cluster": env["A_CLUSTER"], "region": env["A_REGION"], "intents_table": env["A_TABLE"],
    "report_queue_url": env["A_REPORTS"], "wakeup_queue_url": env["A_WAKEUPS"],
    "role": env["A_ROLE"], "node": env["A_NODE"], "instance_id": env["A_INSTANCE"],
    "state_directory": env["A_STATE"], "slurm_bin": env["A_SLURM_BIN"], "slurm_conf": env["A_SLURM_CONF"],
    "is_dry_run": env["A_DRY_RUN"] == "1",
}
try:
    with open(sys.argv[1]) as handle:
        resources = json.load(handle)
except (OSError, ValueError):
    resources = {}
addresses = set()
try:
    addresses = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)}
except OSError:
    pass
controllers = (resources.get("SlurmConfig") or {})
heads = {controllers.get("PrimaryControllerIp"), *(controllers.get("SecondaryControllerIps") or [])} - {None, ""}
host = socket.gethostname().split(".")[0]
for group in resources.get("InstanceGroups") or []:
    for instance in group.get("Instances") or []:
        address = instance.get("CustomerIpAddress") or ""
        name = "ip-" + address.replace(".", "-")
        if address in addresses or name == host:
            values["node"] = values["node"] or name
            values["instance_id"] = values["instance_id"] or instance.get("InstanceId", "")
            values["role"] = values["role"] or ("controller" if address in heads else "node")
values["node"] = values["node"] or host
missing = [name for name in ("cluster", "region", "intents_table", "report_queue_url", "instance_id", "role")
           if not values[name]]
if missing:
    sys.exit("not given and not in %s: %s" % (sys.argv[1], ", ".join(missing)))
if not re.fullmatch(r"ip(-\d{1,3}){4}", values["node"]):
    sys.exit("node name %r is not ip-a-b-c-d; give --node" % values["node"])
json.dump(values, sys.stdout, indent=1, sort_keys=True)
sys.stdout.write("\n")
PYTHON
    then
        rm -f "$draft"
        fail "settings: see the line above" 2
    fi
    if [ -f "$CONFIG" ] && cmp -s "$draft" "$CONFIG"; then
        rm -f "$draft"
    else
        mv -f "$draft" "$CONFIG"
        say "wrote $CONFIG"
        CHANGED=1
    fi
}

# Copies one file when it differs; the mode is set every time.
place() {
    local from=$1 to=$2 mode=$3
    if ! cmp -s "$from" "$to"; then
        install -m "$mode" "$from" "$to.new"
        mv -f "$to.new" "$to"
        say "placed $to"
        CHANGED=1
    fi
    chmod "$mode" "$to"
}

install_agent() {
    local python unit
    CHANGED=0
    python=$(find_python) || fail "Python 3.10 or later is needed and none was found" 78
    verify_bundle "$HERE"
    mkdir -p "$ROOT" "$STATE" "$(dirname "$UNIT")"
    chmod 755 "$ROOT"
    chmod 700 "$STATE"
    place "$HERE/proctor-agent.pyz" "$ROOT/proctor-agent.pyz" 755
    place "$HERE/proctor-agent.pyz.sha256" "$ROOT/proctor-agent.pyz.sha256" 644
    write_settings "$python"
    unit=$(mktemp)
    sed -e "s|@PYTHON@|$python|" -e "s|@ROOT@|$ROOT|" "$HERE/proctor-agent.service" >"$unit"
    place "$unit" "$UNIT" 644
    rm -f "$unit"
    # Before anybody can log in: the key is made and sent once. Later runs find it and do nothing.
    "$python" -I "$ROOT/proctor-agent.pyz" --settings "$CONFIG" install \
        || say "the enrolment could not be sent yet; the agent sends it when it starts"
    if has_systemd; then
        systemctl daemon-reload
        systemctl enable --quiet proctor-agent.service
        if [ "$CHANGED" = 1 ] || ! systemctl is-active --quiet proctor-agent.service; then
            systemctl restart proctor-agent.service
        fi
    fi
    say "done"
}

check_agent() {
    local python status=0
    python=$(find_python) || fail "FAILED: Python 3.10 or later is needed and none was found" 78
    if [ ! -f "$ROOT/proctor-agent.pyz" ]; then
        fail "FAILED: $ROOT/proctor-agent.pyz is not there; run install-agent.sh"
    fi
    (cd "$ROOT" && sha256sum --check --status proctor-agent.pyz.sha256) || { say "FAILED: the bundle's hash differs"; status=1; }
    "$python" -I "$ROOT/proctor-agent.pyz" --settings "$CONFIG" install --check || status=1
    if has_systemd && ! systemctl is-active --quiet proctor-agent.service; then
        say "FAILED: proctor-agent.service is not running"
        status=1
    fi
    return "$status"
}

uninstall_agent() {
    local python
    if [ ! -f "$ROOT/proctor-agent.pyz" ]; then
        say "not installed"
        return 0
    fi
    if has_systemd; then systemctl stop proctor-agent.service || true; fi
    python=$(find_python) || fail "Python 3.10 or later is needed to release the holds" 78
    "$python" -I "$ROOT/proctor-agent.pyz" --settings "$CONFIG" release --all-ours \
        || fail "not everything was released, so nothing was removed; see the lines above"
    if has_systemd; then systemctl disable --quiet proctor-agent.service || true; fi
    rm -rf "$ROOT" "$UNIT" "$CONFIG" "$STATE"
    rmdir "$(dirname "$CONFIG")" 2>/dev/null || true
    if has_systemd; then systemctl daemon-reload; fi
    say "released and removed"
}

usage() { sed -n '2,12p' "${BASH_SOURCE[0]}" | sed 's/^# \{0,1\}//'; }

export A_CLUSTER='' A_REGION='' A_TABLE='' A_REPORTS='' A_WAKEUPS='' A_ROLE='' A_NODE='' A_INSTANCE='' A_DRY_RUN=0
export A_STATE=$STATE A_SLURM_BIN=${PROCTOR_SLURM_BIN:-/opt/slurm/bin} A_SLURM_CONF=${PROCTOR_SLURM_CONF:-}
CHANGED=0
action=install
while [ $# -gt 0 ]; do
    case $1 in
        --check) action=check ;;
        --uninstall) action=uninstall ;;
        --dry-run-agent) A_DRY_RUN=1 ;;
        --help | -h) usage; exit 0 ;;
        --cluster | --region | --table | --report-queue | --wakeup-queue | --role | --node | --instance-id)
            [ $# -ge 2 ] || fail "$1: a value is missing" 2
            case $1 in
                --cluster) A_CLUSTER=$2 ;;
                --region) A_REGION=$2 ;;
                --table) A_TABLE=$2 ;;
                --report-queue) A_REPORTS=$2 ;;
                --wakeup-queue) A_WAKEUPS=$2 ;;
                --role) A_ROLE=$2 ;;
                --node) A_NODE=$2 ;;
                --instance-id) A_INSTANCE=$2 ;;
            esac
            shift
            ;;
        *) usage >&2; fail "unknown argument: $1" 2 ;;
    esac
    shift
done
"${action}_agent"
