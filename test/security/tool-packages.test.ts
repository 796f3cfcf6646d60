import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { LOCAL, type Principal } from "../../src/sandbox/sandbox.ts";
import { openPackageLab } from "../support/package-lab.ts";
import { openToolsLab, textOf } from "../support/tools-lab.ts";
import { outside } from "./support/outside.ts";
import { verifies } from "./verifies.ts";

const OTHER: Principal = { id: "other", name: "other" };
const signal = AbortSignal.timeout(600_000);

const CODE = `// requirements
// probing
import found from "probing";
export default defineTool({ description: "", run: () => found });
`;

/** Touches a file of the host, and writes down what it reaches and what lies in its home. */
function attackOn(mark: string, registry: string): string {
  return `const fs = require("node:fs");
const reached = async (url) => { try { return (await fetch(url)).status; } catch { return "nothing"; } };
const touched = () => { try { fs.writeFileSync(${JSON.stringify(mark)}, ""); return "touched"; } catch { return "untouched"; } };
const code = () => fs.readdirSync(process.env.HOME).filter((name) => !name.startsWith(".")).join() || "no code";
Promise.all([reached("${registry}probing"), reached("${registry.replace("npm.test", "other.test")}probing")]).then((all) =>
  fs.writeFileSync("found.json", JSON.stringify([touched(), ...all, code()])));`;
}

verifies(
  "tool-packages-apart",
  async () => {
    await using index = await openPackageLab();
    await using lab = await openToolsLab({ packages: index.settings, egress: index.egress });
    const mark = join(lab.path, "touched-on-the-host");
    const attack = attackOn(mark, index.settings.registryUrl);
    await outside(["sh", "-c", 'cd "$1" && exec node -e "$2"', "sh", lab.path, attack]);
    expect(existsSync(mark), "the attack works on the host").toBe(true);
    await rm(mark);
    const module = 'try { module.exports = require("./found.json").join(); } catch { module.exports = "it did not run"; }';
    index.offerNpm("probing", "1.0.0", module, attack);

    const spec = { language: "javascript", code: CODE } as const;
    await lab.add(CODE, { ...spec, name: "trusting", sdist: true });
    expect(textOf(await lab.call("trusting"))).toMatch(/^(?:un)?touched,200,nothing,no code$/);
    expect(existsSync(mark)).toBe(false);

    const [{ id, name } = { id: "", name: "" }] = await lab.sandboxes.hiddenSnapshots.list();
    await lab.tools.add(OTHER, { name: "others", spec: { ...spec, sdist: true } }, signal, { publish: true });
    const all = await lab.sandboxes.hiddenSnapshots.list();
    expect(all.filter((one) => one.name === name)).toHaveLength(1);
    expect(all).toHaveLength(2);
    for (const principal of [LOCAL, OTHER]) {
      expect(await lab.sandboxes.snapshots.list(principal)).toEqual([]);
      for (const text of [id, name])
        await expect(lab.sandboxes.create(principal, { template: text }, signal)).rejects.toMatchObject({ code: "TEMPLATE_NOT_FOUND" });
    }

    await lab.add(CODE, { ...spec, name: "careful" });
    expect(textOf(await lab.call("careful"))).toBe("it did not run");
  },
  180_000,
);
