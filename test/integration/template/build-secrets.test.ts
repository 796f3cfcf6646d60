import { spawnSync } from "node:child_process";
import { expect, it } from "vitest";
import { type BuildLab, inside, openBuildLab } from "../../support/build-lab.ts";
import { STATE_STORAGES } from "../../support/state-home.ts";

const TOKEN = "tok-5f1e9c2ab7d84e60";
const KEY = "-----BEGIN KEY-----\nMIIBVwIBADANBgkq\nhkiG9w0BAQEFAASC\n-----END KEY-----\n";

/** Files of the home that hold the text. */
const filesWith = ({ home }: BuildLab, text: string): string =>
  spawnSync("grep", ["-rlF", "--", text, home.crash.home], { encoding: "utf8" }).stdout;

for (const storage of STATE_STORAGES) {
  it(`a secret is seen by one command alone, and lies in no layer, with storage in ${storage}`, async () => {
    await using lab = await openBuildLab({ storage });
    const mounts = "--mount=type=secret,id=token --mount=type=secret,id=key,target=/home/ann/key --mount=type=secret,id=token,env=TOKEN";
    await lab.build(
      [
        `FROM ${lab.image}`,
        "USER ann",
        `RUN ${mounts} cat /run/secrets/token /home/ann/key; echo " $TOKEN"; [ "$TOKEN" = ${TOKEN.slice(0, 4)}"${TOKEN.slice(4)}" ] && echo same > /home/ann/seen`,
        'RUN echo "<$TOKEN>"; ls -a /run/secrets /home/ann/key /dev/shm > /home/ann/later 2>&1; true',
      ].join("\n"),
      { secrets: { token: TOKEN, key: KEY } },
    );
    expect(lab.log()).toContain("\n[secret token][secret key]\n [secret token]\n");
    expect(lab.log()).toContain("\n<>\n");
    const left = await inside(lab, "cat /home/ann/seen /home/ann/later; ls -a /run /home/ann");
    expect(left).toMatch(/^same\n/);
    expect(left).not.toMatch(/secrets-|^key$|^secrets$/m);
    for (const text of [TOKEN, "MIIBVwIBADANBgkq"]) expect([filesWith(lab, text), lab.log().includes(text)]).toEqual(["", false]);
    expect(filesWith(lab, "same")).not.toBe("");
  });
}

it("a step is kept whatever the secret is, but not whatever is shown of it", async () => {
  await using lab = await openBuildLab();
  const file = (mount: string): string => `FROM ${lab.image}\nRUN --mount=type=secret,id=a${mount} true`;
  await lab.build(file(""), { secrets: { a: "one" } });
  for (const secrets of [{ a: "two" }, undefined]) {
    await lab.build(file(""), secrets && { secrets });
    expect(lab.hits()).toBe(1);
  }
  await lab.build(file(",env=A"), { secrets: { a: "one" } });
  expect(lab.hits()).toBe(0);
});

it("a command that fails shows no secret in its error, also one that is cut, encoded or alone in its line", async () => {
  await using lab = await openBuildLab();
  const [begin, end] = [TOKEN.slice(0, 9), TOKEN.slice(9)];
  const command = `printf ${begin}; cat /bin/sh > /dev/null; printf '${end}\\n'; echo "$KEY" | while read -r line; do echo "$line"; done; exit 3`;
  const failed: unknown = await lab
    .build(`FROM ${lab.image}\nRUN --mount=type=secret,id=key,env=KEY --mount=type=secret,id=token ${command}`, {
      secrets: { token: TOKEN, key: KEY },
    })
    .catch((cause: unknown) => cause);
  expect(failed).toMatchObject({ code: "COMMAND_FAILED", message: expect.stringContaining("[secret token]\n[secret key]") as string });
  for (const text of [TOKEN, "MIIBVwIBADANBgkq"]) expect([String(failed), lab.log()].filter((told) => told.includes(text))).toEqual([]);
});

it("what a command puts into the place of a secret is in no layer", async () => {
  await using lab = await openBuildLab();
  const command =
    "t=$(cat /srv/token); rm /srv/token; echo $t > /srv/token; rm -r /run/secrets/b; mkdir /run/secrets/b; echo $t > /run/secrets/b/c";
  await lab.build(`FROM base\nRUN mkdir -p /srv\nRUN --mount=type=secret,id=a,target=/srv/token --mount=type=secret,id=b ${command}`, {
    secrets: { a: TOKEN, b: "b" },
  });
  expect(await inside(lab, "ls -a /srv; ls /run/secrets 2>&1; true")).not.toContain("token");
  expect(filesWith(lab, TOKEN)).toBe("");
});

it.each([
  ["that is required and not given", "--mount=type=secret,id=x,required", "ARGUMENTS_INVALID"],
  ["of another kind", "--mount=type=cache,target=/x", "DOCKERFILE_INVALID"],
  ["with a bad id", "--mount=type=secret,id=../x", "DOCKERFILE_INVALID"],
  ["with a relative place", "--mount=type=secret,id=a,target=x", "DOCKERFILE_INVALID"],
  ["with a bad variable", "--mount=type=secret,id=a,env=A-B", "DOCKERFILE_INVALID"],
  ["with what is not known", "--mount=type=secret,id=a,uid=1", "DOCKERFILE_INVALID"],
])("a mount %s is refused before anything runs", async (_what, mount, code) => {
  await using lab = await openBuildLab();
  await expect(lab.build(`FROM ${lab.image}\nRUN echo ran\nRUN ${mount} true`, { secrets: { a: "a" } })).rejects.toMatchObject({ code });
  expect(lab.log()).toBe("");
});

it("a secret in the place of a file that is there is refused", async () => {
  await using lab = await openBuildLab();
  const build = lab.build(`FROM ${lab.image}\nRUN --mount=type=secret,id=a,target=/srv/app/first true`, { secrets: { a: TOKEN } });
  await expect(build).rejects.toMatchObject({ code: "FILE_EXISTS" });
  expect(filesWith(lab, TOKEN)).toBe("");
});
