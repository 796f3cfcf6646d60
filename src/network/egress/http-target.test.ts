import { expect, it } from "vitest";
import { incomingMessage } from "../../../test/support/incoming-message.ts";
import type { HttpOrigin } from "./http-target.ts";
import { readTarget } from "./http-target.ts";
import { Refusal } from "./refusal.ts";

interface Asked {
  readonly url: string;
  readonly hosts?: readonly string[];
  readonly version?: string;
  readonly fixed?: HttpOrigin;
}

/** The target as `scheme host port path`, or the reason of the refusal. */
function read({ url, hosts = ["good.test"], version = "1.1", fixed }: Asked): string {
  const request = incomingMessage(hosts.map((host) => ["Host", host] as const));
  request.url = url;
  request.httpVersion = version;
  const target = readTarget(request, fixed);
  return target instanceof Refusal ? target.reason : `${target.scheme} ${target.place.host} ${target.place.port} ${target.path}`;
}

const HTTP: HttpOrigin = { place: { host: "good.test", port: 80 }, scheme: "http" };
const HTTPS: HttpOrigin = { place: { host: "good.test", port: 443 }, scheme: "https" };

it.each<[asked: Asked, target: string]>([
  [{ url: "http://good.test/a?b" }, "http good.test 80 /a?b"],
  [{ url: "HTTP://GOOD.test:80" }, "http good.test 80 /"],
  [{ url: "http://good.test?b" }, "http good.test 80 /?b"],
  [{ url: "http://good.test:81/", hosts: ["good.test:81"] }, "http good.test 81 /"],
  [{ url: "http://good.test/", hosts: ["GOOD.TEST.:80"] }, "http good.test 80 /"],
  [{ url: "http://good.test/", hosts: [], version: "1.0" }, "http good.test 80 /"],
])("reads what the proxy is asked for: %j", (asked, target) => {
  expect(read(asked)).toBe(target);
});

it.each<[asked: Asked, target: string]>([
  [{ url: "/a?b", fixed: HTTP }, "http good.test 80 /a?b"],
  [{ url: "*", fixed: HTTP }, "http good.test 80 *"],
  [{ url: "/", fixed: HTTPS }, "https good.test 443 /"],
  [{ url: "/", fixed: HTTPS, hosts: ["good.test:443"] }, "https good.test 443 /"],
  [{ url: "http://good.test/a", fixed: HTTP }, "http good.test 80 /a"],
  [{ url: "https://good.test/a", fixed: HTTPS }, "https good.test 443 /a"],
  [{ url: "/", fixed: HTTPS, hosts: [], version: "1.0" }, "https good.test 443 /"],
])("reads what a tunnel is asked for: %j", (asked, target) => {
  expect(read(asked)).toBe(target);
});

it.each<[asked: Asked, reason: string]>([
  [{ url: "/" }, "bad-request"],
  [{ url: "*" }, "bad-request"],
  [{ url: "ftp://good.test/" }, "bad-request"],
  [{ url: "https://good.test/" }, "bad-request"],
  [{ url: "http:///" }, "bad-request"],
  [{ url: "http://a@good.test/" }, "bad-request"],
  [{ url: "http://good.test/#a" }, "bad-request"],
  [{ url: "a", fixed: HTTP }, "bad-request"],
  [{ url: "", fixed: HTTP }, "bad-request"],
  [{ url: "http://good.test/", hosts: [] }, "host-mismatch"],
  [{ url: "http://good.test/", hosts: [""] }, "host-mismatch"],
  [{ url: "http://good.test/", hosts: ["bad.test"] }, "host-mismatch"],
  [{ url: "http://good.test/", hosts: ["good.test:81"] }, "host-mismatch"],
  [{ url: "http://good.test/", hosts: ["good.test", "good.test"] }, "host-mismatch"],
  [{ url: "http://good.test/", hosts: ["good.test", "good.test"], version: "1.0" }, "host-mismatch"],
  [{ url: "http://bad.test/", fixed: HTTP, hosts: ["bad.test"] }, "host-mismatch"],
  [{ url: "http://good.test:81/", fixed: HTTP, hosts: ["good.test:81"] }, "host-mismatch"],
  [{ url: "/", fixed: HTTPS, hosts: ["good.test:80"] }, "host-mismatch"],
  [{ url: "/", fixed: HTTP, hosts: ["good.test:443"] }, "host-mismatch"],
])("refuses %j as %s", (asked, reason) => {
  expect(read(asked)).toBe(reason);
});
