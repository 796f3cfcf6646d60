import { expect, it } from "vitest";
import { makeShellProgram } from "../../../test/support/shell-program.ts";
import { clearFolder } from "./clear-folder.ts";

const SPEC = Buffer.from("which folder");
const failed = (message: string) => expect.objectContaining({ code: "RUNTIME_FAILED", message }) as Error;

it("gives the program the specification, and nothing of this process", async () => {
  using program = makeShellProgram('cat > "$here/spec"; { echo "$@"; pwd; echo "[$HOME$BELLJAR_HOME]"; } > "$here/asked"');
  expect(await clearFolder(program.path, SPEC)).toBe(true);
  expect(program.read("spec")).toBe("which folder");
  expect(program.read("asked")).toBe("clear\n/\n[]\n");
});

it("tells a keeper that lives from a folder that is cleared", async () => {
  using alive = makeShellProgram("exit 3");
  expect(await clearFolder(alive.path, SPEC)).toBe(false);
  using cleared = makeShellProgram("echo a warning >&2; exit 0");
  expect(await clearFolder(cleared.path, SPEC)).toBe(true);
});

it("tells why a folder could not be cleared, in a bounded text", async () => {
  using program = makeShellProgram('echo "jail: unmount layers: Device or resource busy" >&2; exit 1');
  await expect(clearFolder(program.path, SPEC)).rejects.toThrow(
    failed("The remains of a sandbox could not be removed: jail: unmount layers: Device or resource busy"),
  );
  using verbose = makeShellProgram("head -c 100000 /dev/zero | tr '\\0' x >&2; exit 1");
  await expect(clearFolder(verbose.path, SPEC)).rejects.toThrow(
    failed(`The remains of a sandbox could not be removed: ${"x".repeat(1_000)}`),
  );
});

it("tells the exit code of a program that says nothing, and that a killed one took too long", async () => {
  using silent = makeShellProgram("exit 4");
  await expect(clearFolder(silent.path, SPEC)).rejects.toThrow(failed("The remains of a sandbox could not be removed: exit code 4"));
  using killed = makeShellProgram("kill -KILL $$");
  await expect(clearFolder(killed.path, SPEC)).rejects.toThrow(
    failed("The remains of a sandbox could not be removed: it took longer than 60 s"),
  );
});

it("judges a program that reads nothing by its exit", async () => {
  using program = makeShellProgram("exec <&-; exit 3");
  expect(await clearFolder(program.path, Buffer.alloc(10_000_000))).toBe(false);
});

it("says that the native part is missing", async () => {
  using program = makeShellProgram("exit 0");
  await expect(clearFolder(program.file("gone"), SPEC)).rejects.toThrow(expect.objectContaining({ code: "RUNTIME_UNAVAILABLE" }));
});
