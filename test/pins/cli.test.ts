import { expect, it } from "vitest";
import { COMMANDS, GLOBAL_OPTIONS } from "../../src/cli/command-table.ts";
import type { OptionSpec } from "../../src/cli/command.ts";
import { commandHelp, invocation } from "../../src/cli/help.ts";

/** Scripts call these: a name, an option or a position that goes away breaks them. */
it("keeps every command with its options", () => {
  const lines = COMMANDS.map((spec) => [invocation(spec), ...Object.keys(spec.options).map((name) => `--${name}`)].join(" "));
  expect(lines).toMatchInlineSnapshot(`
    [
      "serve --host --port --admin-port --tls-domain --workspace --network --memory --cpus --pids --disk --open-files --timeout --snippets --tools --mcp-config --toolsets --read-only --e2b-debug --inside --listen --as-root --legacy-sse --sse",
      "mcp --workspace --network --memory --cpus --pids --disk --open-files --timeout --sandbox --all-sandboxes --gateway --snippets --tools --mcp-config --toolsets --read-only",
      "run FILE|- [ARGS...] --lang --workspace --network --memory --cpus --env --timeout --json",
      "exec ID [--] ARGV... --interactive --tty --cwd --env --user --timeout",
      "shell [ID] --workspace --network --user",
      "sandbox create --name --workspace --runtime --template --memory --cpus --pids --disk --open-files --best-effort --no-root --auto-checkpoint --nested-filters --timeout --on-deadline --pause-idle --network --secret --env --metadata --json",
      "sandbox list --all --quiet --state --metadata --json",
      "sandbox events --json",
      "sandbox info ID --json",
      "sandbox stats [ID...] --no-stream --json",
      "sandbox logs ID [PROCESS] --follow --tail",
      "sandbox network ID [none|all|RULE,...] --allow --deny --json",
      "sandbox kill ID... --all --json",
      "sandbox pause ID... --json",
      "sandbox resume ID... --json",
      "sandbox stop ID... --json",
      "sandbox start ID... --json",
      "sandbox extend ID TIME --on-deadline --json",
      "sandbox diff ID [PATH...] --name-only --stat --patch --unified --ignored --json",
      "sandbox apply ID [PATH...] --patch --yes --theirs --ours --undo --unified --ignored --json",
      "diff [PATH...] --sandbox --name-only --stat --patch --unified --ignored --json",
      "apply [PATH...] --sandbox --patch --yes --theirs --ours --undo --unified --ignored --json",
      "sandbox ports ID --json",
      "sandbox port ID PORT --public --expires --remove --json",
      "sandbox forward ID PORT[:LOCAL]",
      "snapshot create ID --name --description --whole --json",
      "snapshot list --sandbox --quiet --json",
      "snapshot info SNAPSHOT --json",
      "snapshot remove SNAPSHOT... --json",
      "fork ID|SNAPSHOT --count --name --memory --cpus --pids --disk --open-files --timeout --network --env --metadata --json",
      "checkpoint ID [CHECKPOINT] --label --remove --json",
      "log ID --lines --json",
      "rollback ID POINT --json",
      "rewind ID [CALL] --calls --json",
      "changes ID [FROM [TO]] --path --name-only --unified --json",
      "undo ID POINT PATH... --json",
      "merge ID FROM_ID [PATH...] --json",
      "context list ID --json",
      "context create ID --lang --cwd --json",
      "context restart ID CONTEXT --json",
      "context interrupt ID CONTEXT --json",
      "context remove ID CONTEXT --json",
      "template import NAME [IMAGE] --snapshot --folder --debian --package --mirror --platform --network --start --ready --ready-port --ready-timeout --memory --cpus --pids --disk --open-files --description --json",
      "template build NAME --file --context --build-arg --secret --target --network --start --ready --ready-port --ready-timeout --memory --cpus --pids --disk --open-files --description --json",
      "template list --quiet --json",
      "template info NAME --json",
      "template share NAME --off --json",
      "template remove NAME... --json",
      "template prune --json",
      "tool add FILE --name --network --secret --memory --cpus --pids --disk --open-files --timeout --reuse --calls --tests --draft --json",
      "tool update NAME [FILE] --network --secret --memory --cpus --pids --disk --open-files --timeout --reuse --calls --tests --draft --json --clear --deps",
      "tool list --quiet --json",
      "tool get NAME --version --code --json",
      "tool call NAME [KEY=VALUE...|JSON] --json",
      "tool test NAME --json",
      "tool publish NAME --json",
      "tool rollback NAME VERSION --json",
      "tool enable NAME --json",
      "tool disable NAME --json",
      "tool share NAME --off --json",
      "tool logs NAME --json",
      "tool export [NAME...] --output --json",
      "tool import DIR|FILE --owner --update --draft --json",
      "tool remove NAME... --json",
      "network sets [NAME] --json",
      "cp SRC ID:DST | ID:SRC DST",
      "connect HOST --workspace --gateway --name --network --toolsets --force --print",
      "client list [SERVER] --config --sandbox --timeout --wire --json",
      "client call SERVER TOOL [KEY=VALUE...|JSON] --config --sandbox --timeout --wire --json",
      "client read URI --config --sandbox --timeout --wire --json --server",
      "client prompt SERVER [PROMPT [KEY=VALUE...]] --config --sandbox --timeout --wire --json",
      "client repl [SERVER] --config --sandbox --timeout --wire",
      "client chat [SERVER] --config --sandbox --model --api --system --max-steps --price --yes --timeout --wire",
      "client login SERVER --config --scope --no-browser",
      "client logout SERVER --config",
      "client record SERVER FILE --config",
      "client replay FILE --server",
      "client discover --json",
      "server add [NAME] [-- COMMAND ARGS...] --url --from --env --header --network --secret --mount --template --isolation --session --pin --learn --json",
      "server list --owner --json",
      "server info NAME --owner --json",
      "server approve NAME --owner --yes",
      "server remove NAME --owner",
      "server login NAME --mcp-config --owner --scope --no-browser",
      "server logout NAME --mcp-config --owner",
      "server logs NAME --json",
      "server restart NAME",
      "server update NAME --yes --json",
      "approval list --json",
      "approval info ID --json",
      "approval give ID",
      "approval refuse ID",
      "audit verify --json",
      "audit tail --lines --follow --json",
      "token create NAME --scope --expires --e2b --json",
      "token list --json",
      "token revoke ID...",
      "secret set NAME",
      "secret list --json",
      "secret remove NAME...",
      "config import FILE --write --force",
      "doctor --json --e2b",
      "completion bash|zsh|fish",
      "version --json",
    ]
  `);
});

it("ends run, exec and shell with 125 on our own failures", () => {
  const named = COMMANDS.filter((spec) => spec.failureCode !== undefined).map(({ name, failureCode }) => `${name} ${failureCode}`);
  expect(named).toEqual(["run 125", "exec 125", "shell 125"]);
});

/**
 * The parser finds the command among options before it knows whose they are. `-p` is the port of `serve` there, and git's `-p` after its
 * command; `--sandbox` has a name before the command, and none after those of `client`; `--e2b` may have a word in `token create` alone,
 * which the parser takes from `--e2b=also` only.
 */
it("gives an option one kind in all commands, but for three letters, --sandbox and --e2b, which stand after the command", () => {
  const kinds = new Map<string, Set<string>>();
  for (const [name, { type, short }] of COMMANDS.flatMap(({ options }) => Object.entries<OptionSpec>({ ...options, ...GLOBAL_OPTIONS })))
    for (const key of [name, ...(short === undefined ? [] : [`-${short}`])]) kinds.set(key, (kinds.get(key) ?? new Set()).add(type));
  expect([...kinds].filter(([, types]) => types.size > 1).map(([key]) => key)).toEqual(["-p", "sandbox", "-u", "-f", "e2b"]);
});

it("shows an option once in the help of a command that gives it a meaning of its own", () => {
  const spec = COMMANDS.find(({ name }) => name === "client call");
  const shown = spec ? commandHelp(spec) : "";
  expect(shown.match(/--config .*/g)).toEqual([expect.stringContaining("File with mcpServers")]);
});

it("calls no two commands by one name", () => {
  const names = COMMANDS.flatMap(({ name, synonyms = [] }) => [name, ...synonyms]);
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
});
