import { expect, it } from "vitest";
import { BelljarError } from "../errors.ts";
import type { RunOptions, Sandbox } from "../sandbox/sandbox.ts";
import { runInstaller } from "./run-installer.ts";

const INSTALL = { installer: "pip", argv: ["pip", "install"], probe: ["pip", "--version"] } as const;

/** A sandbox whose commands end as `answer` says. */
function sandboxWith(
  answer: (options: RunOptions) => { readonly exitCode: number; readonly timedOut?: boolean; readonly stderr?: string },
): Sandbox {
  const run = async (options: RunOptions) => {
    const { exitCode, timedOut = false, stderr = "" } = answer(options);
    return { exitCode, timedOut, stdout: Buffer.alloc(0), stderr: Buffer.from(stderr) };
  };
  return { guest: { run } } as unknown as Sandbox;
}

function install(sandbox: Sandbox): Promise<void> {
  return runInstaller({ sandbox, signal: AbortSignal.timeout(10_000), named: "tiny from the index" }, INSTALL);
}

it("ends an install at its time limit, and says so", async () => {
  const limits: (number | undefined)[] = [];
  const sandbox = sandboxWith(({ timeoutMs }) => {
    limits.push(timeoutMs);
    return { exitCode: 1, timedOut: true };
  });
  await expect(install(sandbox)).rejects.toMatchObject({
    code: "TOOL_DEPENDENCIES_FAILED",
    message: expect.stringContaining("tiny from the index. Reason: the install took longer than 5 minutes"),
  });
  expect(limits).toEqual([300_000]);
});

it.each([
  ["no module", () => sandboxWith(() => ({ exitCode: 1, stderr: "No module named pip" }))],
  [
    "no program",
    () =>
      sandboxWith(() => {
        throw new BelljarError("COMMAND_NOT_FOUND", "There is no python3");
      }),
  ],
])("says that the template has no installer where it is %s", async (_what, open) => {
  await expect(install(open())).rejects.toMatchObject({
    code: "TOOL_DEPENDENCIES_FAILED",
    message: expect.stringContaining("the template has no pip: install it on the host of Belljar (on Debian the package python3-pip)"),
  });
});

it("tells what the installer said, with nothing that moves a terminal's cursor", async () => {
  const sandbox = sandboxWith(({ argv }) =>
    argv === INSTALL.argv ? { exitCode: 1, stderr: "no such \u001B[31mpackage\nat all" } : { exitCode: 0 },
  );
  const failing = install(sandbox);
  await expect(failing).rejects.toMatchObject({ message: expect.stringContaining("package\nat all") });
  await expect(failing).rejects.not.toMatchObject({ message: expect.stringContaining("\u001B") });
});
