import { equal, ok } from "node:assert/strict";
import { kindOfAddress } from "../../../src/network/egress/addresses.ts";
import { DNS_CODE, encodeAnswer, parseQuestion } from "../../../src/network/egress/dns-message.ts";
import { isAddress, parseAuthority, toAuthority, toCanonicalHost } from "../../../src/network/host-name.ts";
import { toCanonicalPath } from "../../../src/network/request-path.ts";
import { pureTarget } from "../fuzz-target.ts";

/** Hosts as clients write them: the canonical spelling of a canonical spelling is itself, and an address is of one kind. */
export const hosts = pureTarget({
  seeds: ["example.com:443", "[::ffff:127.0.0.1]:80", "0x7f.1:8080", "BÜCHER.example.", "[64:ff9b::a9fe:a9fe]", "127.1", "1.2.3.4%25"],
  words: ["::ffff:", "0x", ".localhost", "%2e", "xn--", "。", "[", "]:", "@", "169.254.169.254"],
  run(input) {
    const text = input.toString();
    const host = toCanonicalHost(text);
    if (host !== undefined) {
      equal(toCanonicalHost(host), host);
      ok(!/[\s/\\?#@%[\]A-Z]/.test(host));
      if (isAddress(host)) ok(["public", "private", "closed"].includes(kindOfAddress(host)));
    }
    const place = parseAuthority(text, 80);
    if (place) equal(JSON.stringify(parseAuthority(toAuthority(place.host, place.port))), JSON.stringify(place));
  },
});

/** Paths as rules compare them: one form, which no server resolves further. */
export const paths = pureTarget({
  seeds: ["/a/b/../c", "/%61/./b//", "/a/..;/b", "/a%2fb", "/.%2e/x", "/~user/"],
  words: ["..", "%2e", "%2f", ";", "//", "%c0%ae", "\\", "%25"],
  run(input) {
    const path = toCanonicalPath(input.toString("latin1").split("?", 1)[0] ?? "");
    if (path === undefined) return;
    equal(toCanonicalPath(path), path);
    ok(path.startsWith("/") && !path.includes("//"));
    ok(!path.split("/").some((segment) => segment === ".." || segment === "."));
    equal(new URL(path, "http://host.test").pathname.split("/").length, path.split("/").length);
  },
});

/** Questions to the sandbox's name server: the answer repeats the question and no more than it. */
export const dnsQuestions = pureTarget({
  seeds: [Buffer.from("0001010000010000000000000765786d61706c6503636f6d0000010001", "hex")],
  words: [Buffer.from([0, 1, 0, 1]), Buffer.from([0, 28, 0, 1]), Buffer.from([0xc0, 0x0c])],
  run(input) {
    const question = parseQuestion(input);
    if (!question) return;
    ok(question.name.length <= 256 && question.name === question.name.toLowerCase());
    const answer = encodeAnswer(question, { code: DNS_CODE.NO_ERROR, address: "198.18.0.1", ttlSeconds: 5 });
    equal(answer.length, 12 + question.section.length + 16);
    equal(parseQuestion(Buffer.concat([input.subarray(0, 12), question.section]))?.name, question.name);
  },
});
