import { expect, it } from "vitest";
import { onThisHost, portUrls } from "./port-urls.ts";

const OPEN = { sandbox: "a1", port: 8000, access: "public", createdAt: new Date(0) } as const;
const LINK = { ...OPEN, access: "token", token: "t" } as const;

it.each([
  ["http://127.0.0.1:6060", LINK, "http://8000-a1.localhost:6060/?belljar_token=t", "http://127.0.0.1:6060/ports/a1/8000/?belljar_token=t"],
  ["https://bell.example", LINK, "https://8000-a1.localhost/?belljar_token=t", "https://bell.example/ports/a1/8000/?belljar_token=t"],
  ["http://[::1]:80", OPEN, "http://8000-a1.localhost/", "http://[::1]/ports/a1/8000/"],
])("names a link on %s by host and by path", (origin, link, url, pathUrl) => {
  expect(portUrls(new URL(origin), link)).toEqual({ url, pathUrl });
});

it.each([
  ["//evil.example", "/.//evil.example"],
  ["/\\evil.example", "/./\\evil.example"],
  ["/a//b", "/a//b"],
  ["/", "/"],
])("keeps the path %s on this host", (path, kept) => {
  expect(onThisHost(path)).toBe(kept);
  expect(new URL(onThisHost(path), "http://here.example").host).toBe("here.example");
});
