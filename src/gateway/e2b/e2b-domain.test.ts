import { expect, it } from "vitest";
import type { E2bDomain } from "./e2b-domain.ts";
import { domainFor, secureReach } from "./e2b-domain.ts";

const domain: E2bDomain = { name: "e2b.test", certificates: { contextFor: () => expect.fail("nobody asks") } };

it.each([
  ["http://127.0.0.1:6060", "localhost:6060", "e2b.test:6060"],
  ["http://[::1]:6060", "localhost:6060", "e2b.test:6060"],
  ["http://localhost", "localhost", "e2b.test:80"],
  ["http://box.example:8080", "box.example:8080", "e2b.test:8080"],
  ["https://api.e2b.test:6060", "api.e2b.test:6060", "e2b.test:6060"],
  ["https://api.e2b.test", "api.e2b.test", "e2b.test"],
])("a client that asked at %s writes %s, or with a domain %s", (origin, plain, secure) => {
  expect([domainFor(undefined, origin), domainFor(domain, origin)]).toEqual([plain, secure]);
});

it("gives surfaces names below the domain, if there is one", () => {
  expect(secureReach(undefined, "api")).toEqual({});
  expect(secureReach(domain, "api", "49983-*").tls).toEqual({
    hosts: ["api.e2b.test", "49983-*.e2b.test"],
    certificates: domain.certificates,
  });
});
