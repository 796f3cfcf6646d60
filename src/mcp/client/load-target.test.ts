import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { loadConfigText } from "./config/load-config-text.ts";
import { readConfigText } from "./config/read-config.ts";
import { loadTarget } from "./load-target.ts";

it("names the file that cannot be read, of the configuration and of the variables", async () => {
  const folder = mkdtempSync(join(tmpdir(), "belljar-load-"));
  try {
    const text = JSON.stringify({ servers: { one: { command: "sh", envFile: folder } } });
    const config = readConfigText(text, "mcp.json").servers[0]?.config;
    if (!config) throw new Error("no server was read");
    const scope = { env: {}, workspaceFolder: "/", userHome: "/", inputs: new Map<string, string>() };
    const refused = { code: "CONFIG_INVALID", message: expect.stringContaining(`${folder}: it is no file`) as unknown };
    await expect(loadTarget(config, "mcp.json", scope)).rejects.toMatchObject(refused);
    await expect(loadConfigText(folder)).rejects.toMatchObject(refused);
    await expect(loadConfigText(join(folder, "none"))).rejects.toMatchObject({
      message: expect.stringContaining("There is no file") as unknown,
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
});
