import { expect, it } from "vitest";
import { assertKeysPlace, assertPrivate } from "./issuer-keys.ts";

const ISSUER = "https://issuer.example/tenant";

it.each([
  ["https://issuer.example/keys", ISSUER],
  ["https://keys.example/", ISSUER],
  ["https://93.184.215.14/keys", ISSUER],
  ["http://127.0.0.1:1/keys", "http://localhost:2"],
  ["http://localhost:1/keys", "http://127.0.0.1:2"],
  ["https://10.0.0.1/keys", "https://10.0.0.1"],
  ["https://10.0.0.2/keys", "https://a.localhost"],
])("fetches keys from %s for the issuer %s", (address, issuer) => {
  expect(assertKeysPlace(new URL(address), new URL(issuer)).href).toBe(new URL(address).href);
});

it.each([
  ["https://localhost/keys", ISSUER],
  ["https://a.localhost/keys", ISSUER],
  ["https://127.0.0.1/keys", ISSUER],
  ["https://169.254.169.254/keys", ISSUER],
  ["https://[::1]/keys", ISSUER],
  ["https://[fd00::1]/keys", ISSUER],
  ["http://issuer.example/keys", ISSUER],
  ["http://keys.example/keys", ISSUER],
  ["file:///etc/keys", ISSUER],
])("fetches no keys from %s for the issuer %s", (address, issuer) => {
  expect(() => assertKeysPlace(new URL(address), new URL(issuer))).toThrow(expect.objectContaining({ code: "SERVER_UNREACHABLE" }));
});

it.each(["https://keys.example", "http://localhost:1", "http://127.0.0.1", "http://127.1.2.3", "http://[::1]:3"])(
  "asks %s for keys",
  (address) => {
    expect(assertPrivate(new URL(address)).href).toBe(new URL(address).href);
  },
);

it.each(["http://keys.example", "http://localhost.example", "http://128.0.0.1", "http://[::2]", "ftp://localhost"])(
  "asks %s for no keys, for others could answer",
  (address) => {
    expect(() => assertPrivate(new URL(address))).toThrow(expect.objectContaining({ code: "CONFIG_INVALID" }));
  },
);
