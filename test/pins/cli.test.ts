import { expect, it } from "vitest";
import { COMMANDS } from "../../src/cli/command-table.ts";
import { invocation } from "../../src/cli/help.ts";

/** Scripts call these: a name, an option or a position that goes away breaks them. */
it("keeps every command with its options", () => {
  const lines = COMMANDS.map((spec) => [invocation(spec), ...Object.keys(spec.options).map((name) => `--${name}`)].join(" "));
  expect(lines).toMatchInlineSnapshot(`
    [
      "serve --host --port --workspace --network --memory --cpus --pids --disk --open-files --timeout --snippets --toolsets --read-only --legacy-sse",
      "mcp --workspace --network --memory --cpus --pids --disk --open-files --timeout --sandbox --all-sandboxes --gateway --snippets --toolsets --read-only",
      "run FILE|- [-- ARGS...] --lang --workspace --network --memory --cpus --env --timeout --json",
      "exec ID -- ARGV... --cwd --env --user --timeout",
      "shell [ID] --workspace --network --user",
      "sandbox create --workspace --runtime --template --memory --cpus --pids --disk --open-files --best-effort --nested-filters --timeout --network --secret --env --metadata --json",
      "sandbox list --all --state --metadata --json",
      "sandbox events --json",
      "sandbox info ID --json",
      "sandbox network ID [none|all|RULE,...] --allow --deny --json",
      "sandbox kill ID... --json",
      "sandbox stop ID... --json",
      "sandbox start ID... --json",
      "sandbox extend ID TIME --json",
      "sandbox diff ID [PATH...] --name-only --ignored --json",
      "sandbox apply ID [PATH...] --yes --theirs --ours --undo --ignored --json",
      "diff [PATH...] --sandbox --name-only --ignored --json",
      "apply [PATH...] --sandbox --yes --theirs --ours --undo --ignored --json",
      "sandbox ports ID --json",
      "sandbox port ID PORT --public --json",
      "sandbox forward ID PORT[:LOCAL]",
      "network sets [NAME] --json",
      "cp SRC ID:DST | ID:SRC DST",
      "connect HOST --workspace --gateway --name --print",
      "audit verify --json",
      "audit tail --lines --follow --json",
      "token create NAME --scope --json",
      "token list --json",
      "token revoke ID...",
      "secret set NAME",
      "secret list --json",
      "secret remove NAME...",
      "doctor --json",
      "version --json",
    ]
  `);
});

it("ends run, exec and shell with 125 on our own failures", () => {
  const named = COMMANDS.filter((spec) => spec.failureCode !== undefined).map(({ name, failureCode }) => `${name} ${failureCode}`);
  expect(named).toEqual(["run 125", "exec 125", "shell 125"]);
});
