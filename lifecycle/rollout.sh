#!/bin/bash
# Brings the agent to live nodes from the controller, since lifecycle scripts don't run again there.
#
#   rollout.sh --bundle proctor-agent.tar.gz [--nodes HOSTLIST] [--via srun|ssh] [--parallel N] -- INSTALL-ARGUMENTS
#   rollout.sh --check [--nodes HOSTLIST] [--via srun|ssh]
#
# Without --nodes: every node of the partition dev that answers. Each node gets the same arguments; role node, its
# own name and instance id are found there. One line a node; status 1 when a node failed. Safe to run again.
set -euo pipefail

export PATH=${PROCTOR_SLURM_BIN:-/opt/slurm/bin}:$PATH LC_ALL=C
readonly NODE_SECONDS=${PROCTOR_NODE_SECONDS:-120}

say() { printf 'rollout: %s\n' "$*"; }
fail() { printf 'rollout: %s\n' "$1" >&2; exit "${2:-1}"; }

bundle='' nodes='' via=srun parallel=8 action=install
while [ $# -gt 0 ]; do
    case $1 in
        --bundle) bundle=${2:?--bundle: a file is missing}; shift ;;
        --nodes) nodes=${2:?--nodes: a host list is missing}; shift ;;
        --via) via=${2:?--via: srun or ssh}; shift ;;
        --parallel) parallel=${2:?--parallel: a number is missing}; shift ;;
        --check) action=check ;;
        --) shift; break ;;
        *) fail "unknown argument: $1" 2 ;;
    esac
    shift
done
case $via in srun | ssh) ;; *) fail "--via $via: srun or ssh" 2 ;; esac
case $parallel in '' | *[!0-9]* | 0) fail "--parallel $parallel: a number from 1" 2 ;; esac

if [ "$action" = install ]; then
    [ -n "$bundle" ] || fail '--bundle: proctor-agent.tar.gz is needed' 2
    [ -r "$bundle" ] || fail "$bundle: not readable"
    tar -tzf "$bundle" proctor-agent/install-agent.sh >/dev/null 2>&1 || fail "$bundle: not the agent's tarball"
fi
if [ -z "$nodes" ]; then
    nodes=$(sinfo -h -p dev -t idle,alloc,mixed,drained,draining -o %N | paste -sd, -)
    [ -n "$nodes" ] || fail 'no node of the partition dev answers'
fi
mapfile -t names < <(scontrol show hostnames "$nodes")
for name in "${names[@]}"; do
    [[ $name =~ ^ip(-[0-9]{1,3}){4}$ ]] || fail "node name $name is not ip-a-b-c-d"
done

# Runs the script on standard input on one node, as root, within a time limit.
on_node() {
    if [ "$via" = ssh ]; then
        timeout "$NODE_SECONDS" ssh -o BatchMode=yes -o ConnectTimeout=10 "$1" "$2"
    else
        timeout "$NODE_SECONDS" srun --overlap --quiet --immediate=20 -N1 -n1 -w "$1" --job-name=proctor-agent \
            --chdir=/tmp bash -c "$2"
    fi
}

install_on() {
    local name=$1 words
    shift
    words=$(printf '%q ' --role node "$@")
    on_node "$name" "set -e; d=\$(mktemp -d); trap 'rm -rf \$d' EXIT; tar -xz -C \$d; \$d/proctor-agent/install-agent.sh $words" <"$bundle"
}

check_on() {
    on_node "$1" 'test -f /opt/proctor-agent/proctor-agent.pyz && systemctl is-active --quiet proctor-agent' </dev/null
}

one() {
    local name=$1 said
    if said=$("${action}_on" "$@" 2>&1); then
        printf '%s ok\n' "$name"
    else
        printf '%s FAILED %s\n' "$name" "$(printf '%s' "$said" | tail -n 1)"
        return 1
    fi
}

failed=0 running=0
for name in "${names[@]}"; do
    one "$name" "$@" &
    running=$((running + 1))
    if [ "$running" -ge "$parallel" ]; then
        wait -n || failed=$((failed + 1))
        running=$((running - 1))
    fi
done
while [ "$running" -gt 0 ]; do
    wait -n || failed=$((failed + 1))
    running=$((running - 1))
done
say "${#names[@]} nodes, $failed failed"
[ "$failed" -eq 0 ]
