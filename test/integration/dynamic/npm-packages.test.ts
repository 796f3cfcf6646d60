import { afterAll, beforeAll, expect, it } from "vitest";
import { LOCAL } from "../../../src/sandbox/sandbox.ts";
import { openPackageLab, type PackageLab } from "../../support/package-lab.ts";
import { openToolsLab, textOf, type ToolsLab } from "../../support/tools-lab.ts";

let index: PackageLab;
let lab: ToolsLab;
beforeAll(async () => {
  index = await openPackageLab();
  index.offerNpm("tiny", "1.0.0", 'module.exports = "tiny 1";\n');
  lab = await openToolsLab({ packages: index.settings, egress: index.egress });
}, 120_000);
afterAll(async () => {
  await lab?.[Symbol.asyncDispose]();
  await index?.[Symbol.asyncDispose]();
}, 60_000);
const signal = AbortSignal.timeout(600_000);

const code = (requirement: string, begin = 'import tiny from "tiny";'): string => `// requirements
// ${requirement}
${begin}
export default defineTool({ description: "Says it", run: () => tiny });
`;
const prepared = () => lab.sandboxes.hiddenSnapshots.list();

it("calls a tool with its packages, which are installed once for all tools of the owner that ask for the same", async () => {
  await lab.add(code("tiny"), { name: "first", language: "javascript" });
  expect(textOf(await lab.call("first"))).toBe("tiny 1");
  const asked = index.asked.length;
  await lab.add(code("tiny"), { name: "second", language: "typescript" });
  expect(textOf(await lab.call("second"))).toBe("tiny 1");
  expect(index.asked.length).toBe(asked);
  expect(await prepared()).toHaveLength(1);
});

it("gives CommonJS its packages too", async () => {
  const common = `// requirements\n// tiny\nconst tiny = require("tiny");\nmodule.exports = defineTool({ description: "", run: () => tiny });`;
  await lab.add(common, { name: "common", language: "javascript" });
  expect(textOf(await lab.call("common"))).toBe("tiny 1");
});

it("brings a version its own packages again, also when they were lost and the registry has newer ones", async () => {
  await lab.add(code("tiny@>=1"), { name: "rolled", language: "javascript" });
  index.offerNpm("tiny", "2.0.0", 'module.exports = "tiny 2";\n');
  const newer = { name: "rolled", spec: { language: "javascript", code: code("tiny@>=1.5") } } as const;
  await lab.tools.update(LOCAL, newer, signal, { publish: true });
  expect(textOf(await lab.call("rolled"))).toBe("tiny 2");
  await lab.tools.rollback(LOCAL, "rolled", 1);
  for (const { id } of await prepared()) await lab.sandboxes.hiddenSnapshots.remove(id);
  expect(textOf(await lab.call("rolled"))).toBe("tiny 1");
});

it("names a package that does not exist, and keeps nothing", async () => {
  const before = await prepared();
  await expect(lab.add(code("absent-package"), { name: "fails", language: "javascript" })).rejects.toMatchObject({
    code: "TOOL_DEPENDENCIES_FAILED",
    message: expect.stringMatching(/absent-package[^]*404/),
  });
  await expect(lab.tools.get(LOCAL, "fails")).rejects.toMatchObject({ code: "TOOL_NOT_FOUND" });
  expect(await prepared()).toEqual(before);
});

it("runs what packages run when they are installed only if the tool says so, where it reaches the registry and nothing else", async () => {
  const registry = index.settings.registryUrl;
  const probe = `const reached = async (url) => { try { return (await fetch(url)).status; } catch { return "nothing"; } };
Promise.all([reached("${registry}tiny"), reached("${registry.replace("npm.test", "other.test")}tiny")]).then((found) =>
  require("node:fs").writeFileSync("found.json", JSON.stringify(found)));`;
  index.offerNpm(
    "probing",
    "1.0.0",
    'try { module.exports = require("./found.json").join(); } catch { module.exports = "it did not run"; }',
    probe,
  );
  const probing = code("probing", 'import tiny from "probing";');
  await lab.add(probing, { name: "careful", language: "javascript" });
  await lab.add(probing, { name: "trusting", language: "javascript", sdist: true });
  expect([textOf(await lab.call("careful")), textOf(await lab.call("trusting"))]).toEqual(["it did not run", "200,nothing"]);
}, 60_000);
