import { describe, expect, it } from "vitest";
import { endpointOf, parseReference, writeReference } from "./reference.ts";

const DIGEST = `sha256:${"a".repeat(64)}`;

describe("a reference", () => {
  it.each([
    ["alpine", "docker.io/library/alpine:latest"],
    ["alpine:3.20", "docker.io/library/alpine:3.20"],
    ["bitnami/redis", "docker.io/bitnami/redis:latest"],
    ["docker.io/alpine", "docker.io/library/alpine:latest"],
    ["ghcr.io/a/b/c:1.0_x", "ghcr.io/a/b/c:1.0_x"],
    ["localhost/a", "localhost/a:latest"],
    ["127.0.0.1:5000/a:b", "127.0.0.1:5000/a:b"],
    ["[::1]:5000/a", "[::1]:5000/a:latest"],
    ["GHCR.io/a", "ghcr.io/a:latest"],
    ["registry.example:443/a", "registry.example:443/a:latest"],
    [`alpine@${DIGEST}`, `docker.io/library/alpine@${DIGEST}`],
    [`a.example/b:tag@${DIGEST}`, `a.example/b@${DIGEST}`],
  ])("%s means %s", (text, full) => {
    expect(writeReference(parseReference(text))).toBe(full);
  });

  it.each(
    [
      ["", "Alpine", "a/../b", "a//b", "/a", "a/", "a:", "a:-x", "a b", "a\nb", "a@sha256:1", "a@md5:00", `a@${DIGEST}@${DIGEST}`, "a?x=1"],
      [
        "a".repeat(256),
        "user:pass@host.example/a",
        "host.example:99999/a",
        "https://host.example/a",
        "a:b:c",
        "host.example/%2e%2e/a",
        "a..b",
      ],
    ].flat(),
  )("is refused as %j", (text) => {
    expect(() => parseReference(text)).toThrow(expect.objectContaining({ code: "ARGUMENTS_INVALID" }) as Error);
  });

  it("is asked where its registry answers", () => {
    expect(endpointOf("docker.io", false).href).toBe("https://registry-1.docker.io/");
    expect(endpointOf("127.0.0.1:5000", true).href).toBe("http://127.0.0.1:5000/");
  });
});
