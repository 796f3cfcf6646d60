import { expect, it } from "vitest";
import type { Config } from "../../config/config.ts";
import { e2bScopes, e2bVariables } from "./e2b-key.ts";

const config = (network: string, more: Partial<Config> = {}): Config =>
  ({ host: "127.0.0.1", port: 6060, e2b: { network }, tls: {}, home: "/home/b", ...more }) as unknown as Config;

it("gives a key what e2b.network says, unless its maker names a network", async () => {
  expect(await e2bScopes(config("all"), [], false)).toEqual(["surface:e2b", "network:all"]);
  expect(await e2bScopes(config("none"), ["sandboxes:3"], true)).toEqual(["sandboxes:3", "surface:e2b", "surface:belljar", "network:none"]);
  expect(await e2bScopes(config("npm, *.example.com"), [], false)).toEqual(["surface:e2b", "network:npm", "network:*.example.com"]);
  expect(await e2bScopes(config("all"), ["network:pypi"], false)).toEqual(["network:pypi", "surface:e2b"]);
});

it("names the server under localhost, or as the configuration does", () => {
  const url = "http://localhost:6060";
  expect(e2bVariables(config("all"), "e2b_1")).toEqual({
    byUrl: { E2B_API_KEY: "e2b_1", E2B_API_URL: url, E2B_SANDBOX_URL: url, E2B_VOLUME_API_URL: url },
  });
  expect(e2bVariables(config("all", { host: "0.0.0.0", port: 1 }), "k").byUrl["E2B_API_URL"]).toBe("http://localhost:1");
  expect(e2bVariables(config("all", { url: "https://box.example.com/" }), "k").byUrl["E2B_SANDBOX_URL"]).toBe("https://box.example.com");
});

it("names the domain that is asked by TLS, with what must be trusted for it", () => {
  expect(e2bVariables(config("all", { tls: { domain: "e2b.localhost" } }), "k").byNames).toEqual({
    E2B_API_KEY: "k",
    E2B_DOMAIN: "e2b.localhost:6060",
    NODE_EXTRA_CA_CERTS: "/home/b/tls/e2b.localhost/ca.pem",
    SSL_CERT_FILE: "/home/b/tls/e2b.localhost/bundle.pem",
  });
  const given = { tls: { domain: "box.example.com", cert: "/c", key: "/k" }, url: "https://box.example.com" };
  expect(e2bVariables(config("all", given), "k").byNames).toEqual({ E2B_API_KEY: "k", E2B_DOMAIN: "box.example.com" });
});
