import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { CliHome } from "../support/belljar-cli.ts";
import { openCliHome } from "../support/belljar-cli.ts";

async function create(cli: CliHome, ...options: string[]): Promise<string> {
  return (await cli.run(["create", ...options])).stdout.trim();
}

describe("belljar with names", () => {
  it("takes a name or the beginning of an id wherever it takes an id", async () => {
    await using cli = await openCliHome();
    const id = await create(cli, "--name", "web");
    expect((await cli.run(["list"])).stdout).toMatch(new RegExp(`^ID +NAME +STATE.*\\n${id} +web +running `));
    expect(await cli.run(["exec", "web", "sh", "-c", "echo inside > a.txt"])).toMatchObject({ code: 0, stderr: "" });
    expect(await cli.run(["exec", id.slice(0, 6), "cat", "a.txt"])).toMatchObject({ code: 0, stdout: "inside\n" });
    await writeFile(join(cli.folder, "b.txt"), "outside\n");
    expect(await cli.run(["cp", "b.txt", "web:"])).toMatchObject({ code: 0, stderr: "" });
    expect(await cli.run(["exec", "web", "cat", "b.txt"])).toMatchObject({ stdout: "outside\n" });
    expect((await cli.run(["info", "web"])).stdout).toMatch(/^name +web$/m);
    expect(await cli.run(["extend", "web", "3h"])).toMatchObject({ code: 0, stdout: `${id} ends in 3 hours\n` });
    expect(await cli.run(["create", "--name", "web"])).toMatchObject({ code: 1, stderr: expect.stringContaining("SANDBOX_NAME_TAKEN") });
    expect(await cli.run(["kill", "web"])).toMatchObject({ code: 0, stdout: `${id}\n` });
  });

  it("does so on a server too", async () => {
    await using cli = await openCliHome();
    await using server = cli.start(["serve", "--port", "0"]);
    const [url = ""] = await server.says(/http:\/\/[\d.:]+/);
    const remote = { env: { BELLJAR_URL: url } };
    const id = (await cli.run(["create", "--name", "far.away"], remote)).stdout.trim();
    expect(id).toMatch(/^[a-z0-9]{20}$/);
    for (const name of ["far.away", id.slice(0, 7)])
      expect(await cli.run(["exec", name, "echo", "hello"], remote)).toMatchObject({ code: 0, stdout: "hello\n" });
    expect(await cli.run(["create", "--name", "far.away"], remote)).toMatchObject({ stderr: expect.stringContaining("NAME_TAKEN") });
    expect(await cli.run(["kill", "--all"], remote)).toMatchObject({ code: 0, stdout: `${id}\n` });
  });
});

describe("belljar kill", () => {
  it("ends all sandboxes, stopped ones too, whose ids list -q prints", async () => {
    await using cli = await openCliHome();
    const ids = [await create(cli), await create(cli)];
    await cli.run(["stop", ids[0] ?? ""]);
    const listed = (await cli.run(["list", "-q"])).stdout;
    expect(listed.trim().split("\n").toSorted()).toEqual(ids.toSorted());
    const killed = await cli.run(["kill", "--all"]);
    expect(killed).toMatchObject({ code: 0, stderr: "" });
    expect(killed.stdout.trim().split("\n").toSorted()).toEqual(ids.toSorted());
    expect(await cli.run(["list", "-q"])).toMatchObject({ code: 0, stdout: "" });
    expect(await cli.run(["kill", "--all"])).toMatchObject({ code: 0, stdout: "" });
  });

  it("ends a sandbox once that is named twice", async () => {
    await using cli = await openCliHome();
    const id = await create(cli, "--name", "web");
    expect(await cli.run(["kill", "web", id, id.slice(0, 8)])).toMatchObject({ code: 0, stdout: `${id}\n`, stderr: "" });
  });

  it("ends the others when one is unknown, and tells of that one", async () => {
    await using cli = await openCliHome();
    const id = await create(cli);
    const killed = await cli.run(["kill", "nobody", id, "--json"]);
    expect(killed).toMatchObject({ code: 1, stderr: expect.stringContaining('"nobody"') });
    expect(JSON.parse(killed.stdout)).toEqual({ killed: [id] });
  });

  it("asks which one, and takes --all alone", async () => {
    await using cli = await openCliHome();
    expect(await cli.run(["kill"])).toMatchObject({ code: 2, stderr: expect.stringContaining("Which one?") });
    expect(await cli.run(["kill", "--all", "a"])).toMatchObject({ code: 2, stderr: expect.stringContaining("--all") });
  });
});
