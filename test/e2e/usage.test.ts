import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openCliHome } from "../support/belljar-cli.ts";

describe("belljar", () => {
  it("prints its help on stdout and its version", async () => {
    await using cli = await openCliHome();
    expect(await cli.run(["--help"])).toMatchObject({ code: 0, stderr: "", stdout: expect.stringContaining("Usage: belljar COMMAND") });
    expect(await cli.run(["version"])).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) });
  });

  it.each([[[]], [["fly"]], [["sandbox"]], [["exec"]], [["serve", "--fast"]]])(
    "exits with 2 for %j and prints nothing on stdout",
    async (argv) => {
      await using cli = await openCliHome();
      const result = await cli.run(argv);
      expect(result).toMatchObject({
        code: 2,
        stdout: "",
        stderr: expect.stringMatching(/^belljar: .*\nSee: belljar .*--help \(USAGE\)\n$/s),
      });
    },
  );

  it("names every bad setting and starts nothing", async () => {
    await using cli = await openCliHome();
    await mkdir(cli.home);
    await writeFile(join(cli.home, "config.json"), JSON.stringify({ port: -1, colour: "red" }));
    const { code, stderr } = await cli.run(["sandbox", "list"]);
    expect(code).toBe(1);
    expect(stderr).toContain("port");
    expect(stderr).toContain("colour");
    expect(stderr).toContain("CONFIG_INVALID");
  });

  it("shows a stack only on --debug", async () => {
    await using cli = await openCliHome();
    const argv = ["sandbox", "info", "a".repeat(20)];
    expect((await cli.run(argv)).stderr).not.toMatch(/\n +at /);
    expect((await cli.run([...argv, "--debug"])).stderr).toMatch(/\n +at /);
  });

  it("ends quietly when nobody reads its output", async () => {
    await using cli = await openCliHome();
    const { stdout: id } = await cli.run(["sandbox", "create"]);
    await using command = cli.start(["exec", id.trim(), "--", "yes"]);
    await command.firstOutput();
    command.closeOutput();
    const { code, stderr } = await command.exit;
    expect({ code, stderr }).toEqual({ code: 141, stderr: "" });
  });
});

describe("belljar doctor", () => {
  it("shows what is enforced, as text and as JSON", async () => {
    await using cli = await openCliHome();
    const report = await cli.run(["doctor"]);
    expect(report).toMatchObject({ code: 0, stdout: expect.stringContaining("Runtime namespace: sandboxes can be made here") });
    const isolation = JSON.parse((await cli.run(["doctor", "--json"])).stdout) as unknown;
    expect(isolation).toMatchObject({
      runtime: "namespace",
      available: true,
      checks: expect.arrayContaining([expect.objectContaining({ state: "enforced" })]),
    });
  });
});
