import { expect, it } from "vitest";
import { LOCAL, type Principal } from "../../../src/sandbox/sandbox.ts";
import { makeWheel } from "../../support/package-lab.ts";
import { openPackedLab, whereabouts } from "../../support/packed-lab.ts";
import { until } from "../../support/until.ts";
import { textOf } from "../../support/tools-lab.ts";

const OTHER: Principal = { id: "other", name: "other" };
const signal = AbortSignal.timeout(600_000);
const given = (name: string, requirement = "tiny") =>
  ({ name, spec: { language: "python", code: whereabouts(name, requirement) } }) as const;

/** Where it runs, its package, and how many Pythons wait there. */
const JAVASCRIPT = `// requirements
// tiny
import tiny from "tiny";
import { execSync } from "node:child_process";
const pythons = "cat /proc/[0-9]*/cmdline | tr '\\\\0' ' ' | grep -c 'python[3] main' || true";
export default defineTool({ description: "Where", run: () => [execSync("uname -n"), tiny, execSync(pythons)].join(" ").replaceAll("\\n", "") });
`;

it("a call takes a sandbox that waits with the packages, and its Python, and the next one another", async () => {
  await using lab = await openPackedLab();
  await lab.add(whereabouts("where"));
  const seen: string[] = [];
  for (let turn = 0; turn < 3; turn++) {
    const [id] = await lab.hasWaiting(1);
    const [at = "", program, said] = textOf(await lab.call("where")).split(" ");
    expect([at, program, said]).toEqual([id, "main.py", "tiny"]);
    seen.push(at);
  }
  expect(new Set(seen).size).toBe(3);
  expect(lab.counts()).toMatchObject({ taken: 3 });
});

it("calls at once get a sandbox each, whether it waited or not", async () => {
  await using lab = await openPackedLab({ passing: { kinds: 1, size: 2 } });
  await lab.add(whereabouts("where"));
  const waiting = await lab.hasWaiting(2);
  const ids = await Promise.all(Array.from({ length: 6 }, () => lab.where("where")));
  expect(new Set(ids).size).toBe(6);
  expect(ids).toEqual(expect.arrayContaining([...waiting]));
});

it("a tool of another owner with the same requirements takes none of them", async () => {
  await using lab = await openPackedLab({ passing: { kinds: 4, size: 1 } });
  await lab.add(whereabouts("mine"));
  const [mine = ""] = await lab.hasWaiting(1);
  await lab.tools.add(OTHER, given("theirs"), signal, { publish: true });
  const [theirs] = (await lab.hasWaiting(2)).filter((id) => id !== mine);
  expect(await lab.where("theirs", OTHER)).toBe(theirs);
  expect(lab.waiting()).toContain(mine);
  expect(await lab.where("mine")).toBe(mine);
});

it("one that waits is nobody's, and then its caller's, whose quota it counts to", async () => {
  await using lab = await openPackedLab({ quotas: { sandboxes: 1 } });
  await lab.add(whereabouts("where"));
  await lab.tools.share(LOCAL, "where", true);
  const [id = ""] = await lab.hasWaiting(1);
  expect(lab.ownerOf(id)).toBeUndefined();
  const sandbox = await lab.sandboxes.create(OTHER, {}, signal);
  const refused = await lab.call("where", {}, { principal: OTHER });
  expect(textOf(refused)).toMatch(/^QUOTA_EXCEEDED/);
  expect(lab.waiting()).toEqual([id]);
  await sandbox.kill();
  expect(await lab.where("where", OTHER)).toBe(id);
  expect(lab.ownerOf(id)).toBe(OTHER.id);
});

/** Where it runs, and how many processes it can have beside itself, of 100. */
const crowded = (name: string): string => `# <requirements>
# tiny
# </requirements>
import os, signal
@mcp.tool(description="How many processes it can have")
def ${name}() -> str:
    children = []
    try:
        while len(children) < 100:
            child = os.fork()
            if child == 0:
                signal.pause()
            children.append(child)
    except OSError:
        pass
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return f"{os.uname().nodename} {len(children)}"
`;

it("tools with other limits have sandboxes of their own, made with these", async () => {
  await using lab = await openPackedLab();
  await lab.add(crowded("plain"), { limits: { pids: 200 } });
  const [plain = ""] = await lab.hasWaiting(1);
  await lab.add(crowded("limited"), { limits: { pids: 32 } });
  const [own] = (await lab.hasWaiting(2)).filter((id) => id !== plain);
  const [at, count] = textOf(await lab.call("limited")).split(" ");
  expect(at).toBe(own);
  expect(Number(count)).toBeGreaterThan(0);
  expect(Number(count)).toBeLessThan(32);
  expect(textOf(await lab.call("plain"))).toBe(`${plain} 100`);
});

it("a tool sees its packages, network and variables as in a Python that was started for it", async () => {
  const look = (name: string): string => `# <requirements>
# tiny
# </requirements>
import json, os, sys
import tiny
@mcp.tool(description="What it sees")
def ${name}() -> str:
    env = {key: value for key, value in sorted(os.environ.items()) if key not in ("HOSTNAME", "_")}
    return json.dumps([sys.path, str(env).replace(os.uname().nodename, "ID"), tiny.__file__, os.popen("python3 -c 'import tiny; print(tiny.said)'").read(), sys.argv])
`;
  await using lab = await openPackedLab();
  const network = { allow: ["pip.test:443"] };
  await lab.add(look("look"), { network });
  await lab.hasWaiting(1);
  const warm = textOf(await lab.call("look"));
  expect(lab.counts()).toMatchObject({ taken: 1 });
  await using cold = await openPackedLab({ passing: { kinds: 0, size: 1 } });
  await cold.add(look("look"), { network });
  expect(JSON.parse(warm)).toEqual(JSON.parse(textOf(await cold.call("look"))));
});

it("a package with a module that Python has already comes before that one, as in a Python that was started for it", async () => {
  await using lab = await openPackedLab();
  lab.index.offer(...makeWheel("json", "1.0", "said = 'of the package'\n"));
  await lab.add(whereabouts("hiding", "json"));
  const [id] = await lab.hasWaiting(1);
  const [at, program, ...said] = textOf(await lab.call("hiding")).split(" ");
  expect([at, said.join(" ")]).toEqual([id, "of the package"]);
  expect(program).not.toBe("main.py");
});

it("a session takes one that waits, and keeps it", async () => {
  await using lab = await openPackedLab();
  await lab.add(whereabouts("where"));
  const [id] = await lab.hasWaiting(1);
  await lab.add(whereabouts("again"), { reuse: "session" });
  const [next] = await lab.hasWaiting(1);
  expect(next).not.toBe(id); // the look at its code took the first one
  const client = { id: "s", ask: () => Promise.reject(new Error("nobody is asked")) };
  for (let turn = 0; turn < 2; turn++) expect(textOf(await lab.call("again", {}, { client }))).toMatch(`${next} `);
  await lab.hasWaiting(1);
});

it("JavaScript with packages takes a sandbox that waits, in which no Python does", async () => {
  await using lab = await openPackedLab();
  lab.index.offerNpm("tiny", "1.0.0", 'module.exports = "tiny";\n');
  await lab.add(JAVASCRIPT, { name: "where", language: "javascript" });
  const [id] = await lab.hasWaiting(1);
  expect(textOf(await lab.call("where"))).toBe(`${id} tiny 0`);
});

it("kinds that were used later take the place of the one that was used first, which leaves nothing", async () => {
  await using lab = await openPackedLab({ passing: { kinds: 1, size: 1 } });
  await lab.add(whereabouts("first"));
  const [first = ""] = await lab.hasWaiting(1);
  await lab.add(whereabouts("second", "other"));
  await until(() => !lab.ownerless().includes(first));
  const [second] = await lab.hasWaiting(1);
  expect(await lab.where("second")).toBe(second);
});

it("a kind that nobody uses goes", async () => {
  await using lab = await openPackedLab({ passing: { kinds: 1, size: 1, idleMs: 5_000 } });
  await lab.add(whereabouts("where"));
  await lab.hasWaiting(1);
  await until(() => lab.ownerless().length === 0);
  expect(lab.counts()).toMatchObject({ ready: 0 });
  expect(textOf(await lab.call("where"))).toMatch(/tiny$/);
});

it("a kind that cannot wait keeps no other one from being ready", async () => {
  const warm = async (start: string): Promise<void> => (start === "nothing" ? Promise.reject(new Error("it does not start")) : undefined);
  await using lab = await openPackedLab({ passing: { kinds: 2, size: 1, warm } });
  lab.index.offerNpm("tiny", "1.0.0", 'module.exports = "tiny";\n');
  await lab.add(JAVASCRIPT, { name: "fails", language: "javascript" });
  await lab.add(whereabouts("where"));
  await until(() => lab.problems.length > 0);
  for (let turn = 0; turn < 2; turn++) {
    const [id] = await lab.hasWaiting(1);
    expect(await lab.where("where")).toBe(id);
  }
  expect(textOf(await lab.call("fails"))).toMatch(/ tiny 0$/);
  await lab.hasWaiting(1);
  expect(lab.problems).toEqual(["No sandbox can wait warm with the packages of a tool: Error: it does not start"]);
});
