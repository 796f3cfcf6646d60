import { expect, it } from "vitest";
import { readSecrets } from "./build-secrets.ts";

const env = { token: "a", OTHER: "b=,c" };

it("takes variables and files", async () => {
  expect(await readSecrets(["id=token", "id=x,env=OTHER"], env)).toEqual({ token: "a", x: "b=,c" });
  expect((await readSecrets([`id=y,src=${import.meta.filename}`], env))["y"]).toContain("takes variables and files");
});

it.each(["", "token", "id=", "id=a,b=c", "id=token,src=/a,env=token", "id=missing", "id=constructor", "src=/a"])(
  "refuses %j",
  async (text) => {
    await expect(readSecrets([text], env)).rejects.toMatchObject({ code: "USAGE" });
  },
);

it("says which file is not there", async () => {
  await expect(readSecrets(["id=a,src=/nothing/here"], env)).rejects.toMatchObject({
    message: expect.stringContaining("/nothing/here") as string,
  });
});
