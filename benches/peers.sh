#!/usr/bin/env bash
# Other proxies, measured beside the watchdog.
#
#   benches/peers.sh install DIR          installs them into DIR, by npm, pip and cargo
#   benches/peers.sh run DIR [OPTIONS]    runs the benchmark with each of them that is installed; the options are those of
#                                         the benchmark. BENCH names one that is built; otherwise cargo builds it.
#
# Who leads only to HTTP or to a socket is put there and back: one process of it in front of the server, and one that speaks
# stdio to the client. But for names, places and silence, all are as they come. No path may have blanks in it.
set -euo pipefail

# What it is called | what it is below | what is there once it is installed.
peers=(
    'mcpmon|mcpmon|mcpmon/bin/mcpmon'
    'fastmcp|fastmcp|fastmcp/bin/fastmcp'
    'rmcp-mux (there and back)|rmcp-mux|rmcp-mux/bin/rmcp-mux-proxy'
    'supergateway (there and back)|supergateway|npm/node_modules/.bin/supergateway'
    'mcp-proxy of npm (there and back)|mcp-proxy-npm|npm/node_modules/.bin/mcp-proxy'
    'mcp-proxy of PyPI (there and back)|mcp-proxy|mcp-proxy/bin/mcp-proxy'
)

# What cannot be installed leaves the others as they are; `run` says what is missing.
install_peers() {
    npm install --no-audit --no-fund --prefix "$dir/npm" supergateway@4.0.0 mcp-proxy@6.7.19 || true
    local package
    for package in mcpmon==1.0.1 fastmcp==4.2.3 mcp-proxy==0.13.0; do
        python3 -m venv "$dir/${package%%==*}" || continue
        "$dir/${package%%==*}/bin/pip" install --quiet --disable-pip-version-check "$package" || true
    done
    # Without its icon, which takes a desktop.
    CARGO_TARGET_DIR=$dir/rmcp-mux/target cargo install --locked --root "$dir/rmcp-mux" \
        --no-default-features --features cli rmcp-mux@0.4.0 || true
    rm -rf "$dir/rmcp-mux/target"
}

run() {
    local bench=(cargo run --quiet --release --locked --manifest-path "${self%/*}/Cargo.toml" --) options=() peer name key file
    [[ -z ${BENCH:-} ]] || bench=("$BENCH")
    for peer in "${peers[@]}"; do
        IFS='|' read -r name key file <<<"$peer"
        if [[ -e $dir/$file ]]; then
            options+=(--peer "$name=$self between $dir $key")
        else
            echo "$name is not installed in $dir" >&2
        fi
    done
    if ((${#options[@]} == 0)); then
        echo "there is nothing to compare: benches/peers.sh install $dir" >&2
        exit 1
    fi
    exec "${bench[@]}" "${options[@]}" "$@"
}

# What stands between the client, whose ends are stdin and stdout, and a server.
between() {
    # No two that run at a time have the same port, and nobody else is there.
    local key=$1 port=$((20000 + $$ % 10000)) npm=$dir/npm/node_modules/.bin there=() back=()
    while answers "$port"; do port=$((port + 1)); done
    local url=http://127.0.0.1:$port/mcp
    shift
    mkdir -p "$dir/scratch" && cd "$dir/scratch"
    case $key in
    mcpmon) exec "$dir/mcpmon/bin/mcpmon" --quiet --watch "$dir/mcpmon/include" -- "$@" ;;
    fastmcp)
        local words
        words=$(printf ',"%s"' "${@:2}")
        echo "{\"mcpServers\":{\"it\":{\"command\":\"$1\",\"args\":[${words:1}]}}}" >"fastmcp.$$"
        mv "fastmcp.$$" fastmcp-mcp.json
        exec "$dir/fastmcp/bin/fastmcp" run --no-banner fastmcp-mcp.json
        ;;
    rmcp-mux)
        there=("$dir/rmcp-mux/bin/rmcp-mux" --log-level error --socket "$dir/scratch/$$" --cmd "$1" -- "${@:2}")
        back=("$dir/rmcp-mux/bin/rmcp-mux-proxy" --socket "$dir/scratch/$$")
        ;;
    supergateway)
        there=("$npm/supergateway" --logLevel none --stdio "$*" --outputTransport streamableHttp --stateful --port "$port")
        back=("$npm/supergateway" --logLevel none --streamableHttp "$url")
        ;;
    mcp-proxy-npm)
        # Its way back is a function of its library alone.
        there=("$npm/mcp-proxy" --host 127.0.0.1 --port "$port" --server stream -- "$@")
        back=(node --input-type=module --eval "import { ServerType, startStdioServer } from '$dir/npm/node_modules/mcp-proxy/dist/index.mjs';
            await startStdioServer({ serverType: ServerType.HTTPStream, url: '$url' });")
        ;;
    mcp-proxy)
        there=("$dir/mcp-proxy/bin/mcp-proxy" --log-level ERROR --port "$port" -- "$@")
        back=("$dir/mcp-proxy/bin/mcp-proxy" --log-level ERROR --transport streamablehttp "$url")
        ;;
    esac
    rm -f "$dir/scratch/$$"
    trap finish EXIT
    trap 'exit 143' TERM INT HUP
    "${there[@]}" </dev/null >&2 &
    until [[ -S $dir/scratch/$$ ]] || answers "$port"; do
        [[ $(jobs -rp) ]] || exit 1
        sleep 0.02
    done
    # In the background, where a signal to this shell is heeded meanwhile.
    "${back[@]}" <&0 &
    wait $!
}

answers() { (: <"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# Whatever the reason, nothing of it stays.
finish() {
    set +e
    for turn in {0..100}; do
        mapfile -t jobs < <(jobs -rp)
        [[ ${#jobs[@]} -gt 0 ]] || break
        case $turn in 0) kill "${jobs[@]}" ;; 100) kill -9 "${jobs[@]}" ;; esac
        sleep 0.02
    done
    rm -f "$dir/scratch/$$"
}

self=$(realpath "${BASH_SOURCE[0]}")
dir=$(realpath -m "${2:-.}")
case ${1:-}${2:+ } in
'install ') install_peers ;;
'run ') run "${@:3}" ;;
'between ') between "${@:3}" ;;
*) sed -n '2,/^set/s/^# \{0,1\}//p' "$self" >&2 && exit 2 ;;
esac
