#!/bin/bash
# Turns on enforcement of Slurm's limits: AccountingStorageEnforce=associations,limits,qos in the accounting include.
#
#   accounting.sh            idempotent; restarts slurmctld only when the setting changed
#   accounting.sh --check    says whether limits bind; changes nothing; status 1 when they don't
#   accounting.sh --remove   takes our line out again
#
# HyperPod's own agent owns slurm.conf, so only the included accounting.conf is touched. With enforcement on, a
# job without an association is refused: --check names the login names that would be, before anything is changed.
set -euo pipefail

readonly SLURM_ETC=${PROCTOR_SLURM_ETC:-/opt/slurm/etc}
readonly FILE=$SLURM_ETC/accounting.conf
readonly CONF=$SLURM_ETC/slurm.conf
readonly WANTED='AccountingStorageEnforce=associations,limits,qos'
readonly MARK='# proctor: limits are enforced'
export PATH=${PROCTOR_SLURM_BIN:-/opt/slurm/bin}:$PATH SLURM_CONF=$CONF LC_ALL=C

say() { printf 'accounting: %s\n' "$*"; }
fail() { printf 'accounting: %s\n' "$1" >&2; exit "${2:-1}"; }

running_value() {
    timeout 15 scontrol show config 2>/dev/null | sed -n 's/^AccountingStorageEnforce *= *//p'
}

running_storage() {
    timeout 15 scontrol show config 2>/dev/null | sed -n 's/^AccountingStorageType *= *//p'
}

# Login names with a job now and no association: enforcement would refuse their next one.
without_association() {
    comm -23 <(timeout 30 squeue -a -h -o %u | sort -u) \
        <(timeout 30 sacctmgr -P -n show assoc format=user | sed '/^$/d' | sort -u)
}

check() {
    local value storage missing
    storage=$(running_storage)
    value=$(running_value)
    [ -n "$storage" ] || fail 'FAILED: slurmctld does not answer'
    case $storage in
        *slurmdbd) say "ok: AccountingStorageType=$storage" ;;
        *) fail "FAILED: AccountingStorageType=$storage; slurmdbd is needed before limits can bind" ;;
    esac
    missing=$(without_association || true)
    if [ -n "$missing" ]; then
        say "warning: no association, would be refused: $(printf '%s' "$missing" | tr '\n' ' ')"
    fi
    case ",$value," in
        *,limits,*) say "ok: AccountingStorageEnforce=$value" ;;
        *) fail "FAILED: AccountingStorageEnforce=${value:-none}; limits are recorded and never bind" ;;
    esac
}

restart_slurmctld() {
    if [ -n "${PROCTOR_RESTART_SLURMCTLD:-}" ]; then
        "$PROCTOR_RESTART_SLURMCTLD"
    elif [ -d /run/systemd/system ]; then
        systemctl restart slurmctld
    else
        say 'restart slurmctld: a reconfigure does not change AccountingStorageEnforce'
    fi
}

write_lines() {
    local draft=$1
    chown --reference="$FILE" "$draft"
    chmod --reference="$FILE" "$draft"
    mv -f "$draft" "$FILE"
}

# Everything of the file but our own two lines and, when asked, others' setting of the same name.
lines_without_ours() {
    sed -e "\|^$MARK\$|d" -e "\|^$WANTED\$|d" "$FILE"
}

apply() {
    local draft
    [ -f "$FILE" ] || fail "$FILE is not there; set up slurmdbd first"
    grep -Eq "^[[:space:]]*[Ii]nclude[[:space:]]+.*accounting.conf" "$CONF" \
        || fail "$CONF does not include accounting.conf"
    if lines_without_ours | grep -Eq '^[[:space:]]*AccountingStorageEnforce[[:space:]]*='; then
        fail "$FILE already sets AccountingStorageEnforce to something else; change that line by hand"
    fi
    grep -Eq '^[[:space:]]*AccountingStorageType[[:space:]]*=[[:space:]]*accounting_storage/slurmdbd' "$FILE" "$CONF" \
        || fail 'AccountingStorageType is not accounting_storage/slurmdbd; limits could not bind'
    if grep -Fxq "$WANTED" "$FILE"; then
        say "ok: $FILE has the setting"
    else
        draft=$(mktemp "$FILE.XXXXXX")
        { cat "$FILE"; printf '%s\n%s\n' "$MARK" "$WANTED"; } >"$draft"
        write_lines "$draft"
        say "wrote $FILE"
    fi
    case ",$(running_value)," in
        *,limits,*) say 'ok: slurmctld enforces limits' ;;
        *) restart_slurmctld ;;
    esac
}

remove() {
    local draft
    if [ -f "$FILE" ] && grep -Fxq "$MARK" "$FILE"; then
        draft=$(mktemp "$FILE.XXXXXX")
        lines_without_ours >"$draft"
        write_lines "$draft"
        say "removed from $FILE"
        restart_slurmctld
    else
        say 'nothing of ours is there'
    fi
}

case ${1:-} in
    '') apply ;;
    --check) check ;;
    --remove) remove ;;
    *) fail "unknown argument: $1 (none, --check or --remove)" 2 ;;
esac
