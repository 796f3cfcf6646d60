import { expect, it } from "vitest";
import { createSignatureCheck, hasExpired, signedFileOf } from "./file-signature.ts";

const TOKEN = "0tQG31xiMp0IOQfaz9dcwi72L1CPo8e0";
const SIGNATURE = "v1_gUtH/s9YCJWgCizjfUxuWfhFE4QSydOWEIIvfLwDr6E";

function signed(query: Readonly<Record<string, string>>, method = "GET") {
  return signedFileOf({ method, url: `/files?${new URLSearchParams(query).toString()}` });
}

it("knows a signature of E2B's own, for that path, user, operation and token alone", () => {
  const query = { path: "hello.txt", username: "user", signature: SIGNATURE };
  const check = (changed: Readonly<Record<string, string>>, method?: string, token = TOKEN): boolean => {
    const file = signed({ ...query, ...changed }, method);
    return file !== undefined && createSignatureCheck(file)(token);
  };
  expect(check({})).toBe(true);
  expect(check({}, "HEAD")).toBe(true);
  expect(check({ path: "hello.tx" })).toBe(false);
  expect(check({ username: "" })).toBe(false);
  expect(check({ signature_expiration: "1" })).toBe(false);
  expect(check({}, "POST")).toBe(false);
  expect(check({}, "GET", `${TOKEN}x`)).toBe(false);
  expect(check({ signature: SIGNATURE.replace("gUtH", "gUtI") })).toBe(false);
});

it("signs a long path and its end of validity as a short one", async () => {
  const { createHash } = await import("node:crypto");
  const path = "ü".repeat(3_000);
  const digest = createHash("sha256").update(`${path}:write::${TOKEN}:1795293405`).digest("base64").replace(/=+$/, "");
  const file = signed({ path, signature: `v1_${digest}`, signature_expiration: "1795293405" }, "POST");
  expect(file && createSignatureCheck(file)(TOKEN)).toBe(true);
  expect(file && createSignatureCheck(file)(TOKEN.slice(1))).toBe(false);
});

it("takes nothing that can be read in two ways or that nobody has signed", () => {
  const query = { path: "a", signature: SIGNATURE };
  for (const url of [
    `/files?path=a`,
    `/files?path=a&path=b&signature=${encodeURIComponent(SIGNATURE)}`,
    `/files?path=a&signature=${encodeURIComponent(SIGNATURE)}&signature=x`,
    `/files?path=a&username=&username=root&signature=${encodeURIComponent(SIGNATURE)}`,
  ])
    expect(signedFileOf({ method: "GET", url }), url).toBeUndefined();
  for (const signature of ["", "v1_", "v2_" + SIGNATURE.slice(3), `${SIGNATURE}=`, SIGNATURE.slice(0, -1)])
    expect(signed({ ...query, signature }), signature).toBeUndefined();
  for (const signature_expiration of ["", "-1", "1.5", "1e9", "007", "9".repeat(13)])
    expect(signed({ ...query, signature_expiration }), signature_expiration).toBeUndefined();
  expect(signed({ ...query, path: "p".repeat(9_000) })).toBeUndefined();
  expect(signed(query, "DELETE")).toBeUndefined();
});

it("ends a signature with its second, without any tolerance", () => {
  const file = signed({ path: "a", signature: SIGNATURE, signature_expiration: "1000" });
  if (!file) throw new Error("It was not read");
  expect([999_000, 1_000_999, 1_001_000].map((now) => hasExpired(file, now))).toEqual([false, false, true]);
});
