import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createSecretStore } from "../../../src/secrets/create-secret-store.ts";
import { LOCAL } from "../../../src/sandbox/sandbox.ts";
import { type HubLab, openHubLab, SERVER_CODE } from "../../support/hub-lab.ts";
import { openTemplateHome, type TemplateHome } from "../../support/template-home.ts";
import { textOf } from "../../support/tools-lab.ts";

const DOCKERFILE = `FROM base
COPY server.mjs /srv/server.mjs
ENV FROM_IMAGE=yes
ENTRYPOINT ["node", "/srv/server.mjs"]
CMD ["--usual"]
`;

let folder: string;
let home: TemplateHome;
let lab: HubLab;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "bj-hub-"));
  await writeFile(join(folder, "server.mjs"), SERVER_CODE);
  await writeFile(join(folder, "note"), "a note");
  home = await openTemplateHome();
  const made = { name: "my-server", dockerfile: DOCKERFILE, context: folder } as const;
  await home.templates.make(LOCAL, made, AbortSignal.timeout(60_000));
  const env = { TOKEN: "t0ken", UNASKED: "kept" };
  lab = await openHubLab(
    {
      usual: { command: "docker", args: ["run", "-i", "--rm", "-e", "TOKEN", "my-server"], env },
      given: { command: "docker", args: ["run", "-i", "-v", `${folder}:/workspace:ro`, "my-server:latest", "/workspace", "-x"] },
      absent: { command: "docker", args: ["run", "-i", "mcp/fetch"] },
      wrong: { command: "docker", args: ["run", "--privileged", "my-server"] },
    },
    {
      on: { sandboxes: home.sandboxes, home: home.crash.home, store: createSecretStore({ home: home.crash.home }) },
      templates: home.templates,
    },
  );
  await lab.until(() => Object.values(lab.states()).every((state) => state !== "starting"));
}, 180_000);
afterAll(async () => {
  await lab?.[Symbol.asyncDispose]();
  await home?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
}, 60_000);

const where = async (server: string): Promise<{ env: object; args: readonly string[] }> =>
  JSON.parse(textOf(await lab.call(`mcp_${server}_where`, { path: "/" })));
const problem = (name: string): string | undefined => lab.hub.servers(LOCAL).find((server) => server.name === name)?.error?.message;

it("runs an entry with docker run from the template of its image, with the variables that it names", async () => {
  const { env, args } = await where("usual");
  expect(args).toEqual(["--usual"]);
  expect(env).toMatchObject({ TOKEN: "t0ken", FROM_IMAGE: "yes" });
  expect(env).not.toHaveProperty("UNASKED");
});

it("gives the image other arguments behind its entry point, and the folder that -v names", async () => {
  expect((await where("given")).args).toEqual(["/workspace", "-x"]);
  expect(textOf(await lab.call("mcp_given_read", { path: "/workspace/note" }))).toBe("a note");
  expect(textOf(await lab.call("mcp_given_write", { path: "/workspace/note" }))).toBe("EROFS");
});

it("says how to make the template of an image that has none, and what is not taken", () => {
  expect(problem("absent")).toMatch(
    /server "absent" did not start: no template.*`belljar template import mcp-fetch-latest mcp\/fetch --network docker\.io/,
  );
  expect(problem("wrong")).toContain('"--privileged" of docker run is not taken');
});
