import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { openKeyring } from "../../../src/files/keyring.ts";

/** A stand-in for secret-tool. It writes its input and each of its command lines into its folder. */
const TOOL = `#!/bin/sh
cd "$(dirname "$0")"
echo "$@" >> argv
case "$1" in
  store) cat > stored ;;
  lookup) cat stored 2>/dev/null ;;
  clear) rm -f stored ;;
esac
`;

async function openTool(script: string): Promise<{ readonly folder: string; readonly tool: string } & AsyncDisposable> {
  const folder = await mkdtemp(join(tmpdir(), "belljar-keyring-"));
  const tool = join(folder, "secret-tool");
  await writeFile(tool, script);
  await chmod(tool, 0o700);
  return { folder, tool, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) };
}

it("stores, finds and clears a key, and shows it in no command line", async () => {
  await using made = await openTool(TOOL);
  const keyring = openKeyring(made.tool);
  expect(await keyring.lookup("id-1")).toBeUndefined();
  expect(await keyring.store("id-1", "the-key")).toBe(true);
  expect(await keyring.lookup("id-1")).toBe("the-key");
  await keyring.clear("id-1");
  expect(await keyring.lookup("id-1")).toBeUndefined();
  const argv = await readFile(join(made.folder, "argv"), "utf8");
  expect(argv).toContain("store --label=Belljar application belljar key id-1");
  expect(argv).not.toContain("the-key");
});

it.each([
  ["fails", "#!/bin/sh\nexit 1\n"],
  ["closes its input at once", "#!/bin/sh\nexec 0<&-\nexit 3\n"],
  ["prints without an end", "#!/bin/sh\nexec yes\n"],
])("counts as none when the tool %s", async (_what, script) => {
  await using made = await openTool(script);
  const keyring = openKeyring(made.tool);
  expect(await keyring.store("id-1", "the-key")).toBe(false);
  expect(await keyring.lookup("id-1")).toBeUndefined();
});

it("counts as absent if the tool never answers", async () => {
  await using made = await openTool("#!/bin/sh\nexec sleep 600\n");
  expect(await openKeyring(made.tool, 50).lookup("id-1")).toBeUndefined();
});

it("counts as absent if there is no tool", async () => {
  expect(await openKeyring("/nonexistent/secret-tool").store("id-1", "the-key")).toBe(false);
});
