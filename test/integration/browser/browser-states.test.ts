import { expect, it } from "vitest";
import { openCliHome } from "../../support/belljar-cli.ts";
import { connectModel, createToken, SITE, startSite, useTool } from "../../support/browser-model.ts";
import { removeMade } from "../../support/remove-made.ts";
import { serveHome } from "../../support/serve-home.ts";

/** Chromium, which says that it was this one that was started. */
const OWN = "/home/user/own-chromium";
const PROGRAM = `#!/bin/sh\necho started >> /home/user/ran\nexec /usr/lib/chromium/chromium "$@"\n`;
const SCOPES = ["browser", "files", "shell", "sandbox"].map((toolset) => `toolset:${toolset}`);

it("is the browser of the settings, logged in in a fork and after a rollback as when their state was taken", async () => {
  await using cli = await openCliHome();
  await using server = await serveHome(cli, ["--pids", "600"], {
    BELLJAR_BROWSER_PATH: OWN,
    BELLJAR_BROWSER_IDLE_MS: "1500",
  });
  const client = await connectModel(server.url, await createToken(cli, "states", SCOPES));
  const use = async (name: string, args: object = {}): Promise<string> => {
    const { text, isError } = await useTool(client, name, args);
    expect(isError, text).toBe(false);
    return text;
  };
  const idIn = (text: string): string => /"(?:id|checkpoint_id)": ?"([^"]+)"/.exec(text)?.[1] ?? text;
  const visit = (query = "", sandbox = {}): Promise<string> => use("browser_navigate", { url: `${SITE}/cookie${query}`, ...sandbox });
  try {
    await use("write_file", { path: OWN, content: PROGRAM });
    await use("run_command", { command: `chmod +x ${OWN}` });
    await startSite(client);
    expect(await use("sandbox_fork"), "nothing of a browser is copied").not.toContain("cookies");

    expect(await visit("?who=ann")).toContain("title: who=ann");
    const point = idIn(await use("sandbox_checkpoint"));
    const told = await use("sandbox_fork");
    expect(told).toContain("copied with its cookies");
    const fork = { sandbox: idIn(told) };
    await startSite(client, fork);
    expect(await visit("", fork)).toContain("title: who=ann");

    expect(await visit("?who=bob")).toContain("title: who=bob");
    await use("sandbox_rollback", { checkpoint_id: point });
    await startSite(client);
    expect(await visit()).toContain("title: who=ann");

    const idle = "while pgrep -f '[b]rowser-driver' > found; do sleep 0.05; done; cat ran";
    expect(await use("run_command", { command: idle })).toContain("started");
  } finally {
    await client.close();
    await removeMade(cli, server.url, "states");
  }
}, 90_000);
