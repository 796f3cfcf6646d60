import { expect, it } from "vitest";
import type { Config } from "../../config/config.ts";
import { e2bScopes, e2bVariables } from "./e2b-key.ts";

const config = (network: string, more: Partial<Config> = {}): Config =>
  ({ host: "127.0.0.1", port: 6060, e2b: { network }, ...more }) as unknown as Config;

it("gives a key what e2b.network says, unless its maker names a network", async () => {
  expect(await e2bScopes(config("all"), [], false)).toEqual(["surface:e2b", "network:all"]);
  expect(await e2bScopes(config("none"), ["sandboxes:3"], true)).toEqual(["sandboxes:3", "surface:e2b", "surface:belljar", "network:none"]);
  expect(await e2bScopes(config("npm, *.example.com"), [], false)).toEqual(["surface:e2b", "network:npm", "network:*.example.com"]);
  expect(await e2bScopes(config("all"), ["network:pypi"], false)).toEqual(["network:pypi", "surface:e2b"]);
});

it("names the server under localhost, or as the configuration does", () => {
  expect(e2bVariables(config("all"), "e2b_1")).toEqual({
    E2B_API_KEY: "e2b_1",
    E2B_API_URL: "http://localhost:6060",
    E2B_SANDBOX_URL: "http://localhost:6060",
    E2B_VOLUME_API_URL: "http://localhost:6060",
  });
  expect(e2bVariables(config("all", { host: "0.0.0.0", port: 1 }), "k")["E2B_API_URL"]).toBe("http://localhost:1");
  expect(e2bVariables(config("all", { url: "https://box.example.com/" }), "k")["E2B_SANDBOX_URL"]).toBe("https://box.example.com");
});
