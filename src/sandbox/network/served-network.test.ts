import { expect, it } from "vitest";
import { createRecordedEgress } from "../../../test/support/recorded-egress.ts";
import { sandboxRecord } from "../../../test/support/sandbox-record.ts";
import { BelljarError } from "../../errors.ts";
import { createSandboxAuthority } from "../../network/tls/sandbox-authority.ts";
import type { Guest } from "../../runtime/guest/guest.ts";
import type { KeptState } from "./network-files.ts";
import { proxyEnvironment } from "./network-environment.ts";
import { ServedNetwork, type ServedNetworkOptions } from "./served-network.ts";

const ID = "a".repeat(20);
const record = sandboxRecord({ id: ID });
const kept = (number: number, policy: KeptState["state"]["policy"], more: Partial<KeptState["state"]> = {}): KeptState => ({
  number,
  state: { policy, ceiling: policy, links: [], ...more },
});

/** A network whose way out is recorded. `fail`: how its service fails, each time that it starts. */
function serve(
  first: KeptState | Promise<KeptState>,
  more: Partial<ServedNetworkOptions> & { readonly fail?: () => Error | undefined } = {},
) {
  const { fail = () => undefined, ...options } = more;
  const problems: string[] = [];
  const egress = createRecordedEgress(async () => {
    const error = fail();
    if (error) throw error;
  });
  const network = new ServedNetwork({
    record,
    guest: {} as Guest,
    egress: async () => egress,
    createGuard: () => Promise.reject(new Error("no traffic is read here")),
    first: Promise.resolve(first),
    report: (problem) => problems.push(problem),
    ...options,
  });
  /** Resolves once the first policy is served. */
  const begun = () => egress.told(({ kind }) => kind === "serve");
  const kinds = () => egress.events.map(({ kind }) => kind);
  return { network, egress, problems, kinds, begun, [Symbol.asyncDispose]: () => network[Symbol.asyncDispose]() };
}

it("serves nothing for the policy none, and needs no variables then", async () => {
  await using served = serve(kept(0, "none"));
  expect([await served.network.environment(), served.kinds()]).toEqual([{}, []]);
});

it("serves the first policy, updates it in place, and stops with none", async () => {
  await using served = serve(kept(1, { allow: ["npm"] }));
  await served.begun();
  expect(await served.network.environment()).toEqual(proxyEnvironment(ID));
  await served.network.apply(kept(2, "all"));
  expect(served.egress.serves(ID)).toEqual({ policy: "all" });
  await served.network.apply(kept(3, "none"));
  expect([served.kinds(), await served.network.environment()]).toEqual([["serve", "update", "stop"], {}]);
  await served.network.apply(kept(4, "all"));
  expect(served.kinds()).toEqual(["serve", "update", "stop", "serve"]);
});

it("tells the way out what may lead inside, and nothing of links", async () => {
  await using served = serve(kept(1, "all", { inside: { allow: ["10.0.0.1:80"] } }));
  await served.begun();
  expect(served.egress.serves(ID)).toEqual({ policy: "all", inside: { allow: ["10.0.0.1:80"] } });
  await served.network.apply(kept(2, "all", { inside: { allow: ["10.0.0.1:80"] }, ceiling: "none" }));
  expect(served.kinds()).toEqual(["serve"]);
  expect(await served.network.state()).toMatchObject({ ceiling: "none" });
});

it("takes no older state for a newer one, and the same number again", async () => {
  await using served = serve(kept(5, "all"));
  await served.network.environment();
  await served.network.apply(kept(4, "none"));
  expect(await served.network.state()).toMatchObject({ policy: "all" });
  await served.network.apply(kept(5, "none"));
  expect(await served.network.state()).toMatchObject({ policy: "none" });
});

it("answers for a closed network once it is asked to, and from then on", async () => {
  await using served = serve(kept(0, "none"));
  await served.network.answerClosed();
  expect(served.egress.serves(ID)).toEqual({ policy: "none", answersClosed: true });
  expect(await served.network.environment()).toEqual(proxyEnvironment(ID));
  await served.network.apply(kept(1, "all"));
  await served.network.apply(kept(2, "none"));
  expect(served.kinds()).toEqual(["serve", "update", "update"]);
  expect(served.egress.serves(ID)).toEqual({ policy: "none", answersClosed: true });
});

it("reads traffic with a guard of the sandbox's own authority, made once for it", async () => {
  const [one, other] = [createSandboxAuthority(), createSandboxAuthority()];
  const guards: unknown[] = [];
  const createGuard = async (authority: unknown) => {
    guards.push(authority);
    return {} as Awaited<ReturnType<ServedNetworkOptions["createGuard"]>>;
  };
  await using served = serve(kept(1, "all", { authority: one }), { createGuard });
  expect(Object.keys(await served.network.environment())).toEqual(expect.arrayContaining(["HTTP_PROXY", "SSL_CERT_FILE"]));
  await served.network.apply(kept(2, { allow: ["npm"] }, { authority: one }));
  expect(guards).toEqual([one]);
  await served.network.apply(kept(3, { allow: ["npm"] }, { authority: other }));
  expect(guards).toEqual([one, other]);
  expect(served.egress.serves(ID)).toHaveProperty("guard");
});

it("reports a failure once, and tries again with the next command", async () => {
  await using served = serve(kept(1, "all"), { fail: () => new Error("no listener") });
  expect(await served.network.environment()).toEqual(proxyEnvironment(ID));
  await served.egress.told(({ kind }) => kind === "stop");
  await served.network.environment();
  expect(served.problems).toEqual([`Sandbox ${ID} has no network now: no listener`]);
  expect(served.kinds().filter((kind) => kind === "serve").length).toBeGreaterThan(1);
});

it.each(["SANDBOX_ENDED", "CANCELLED"] as const)("reports no failure that comes with the end of the sandbox: %s", async (code) => {
  await using served = serve(kept(1, "all"), { fail: () => new BelljarError(code, "over") });
  await served.network.environment();
  expect(served.problems).toEqual([]);
});

it("reports a way out that cannot be opened, and serves nothing where this process has none", async () => {
  await using broken = serve(kept(1, "all"), { egress: () => Promise.reject(new Error("no port")) });
  await broken.network.environment();
  expect(broken.problems).toEqual([`Sandbox ${ID} has no network now: no port`]);
  const createGuard = () => Promise.reject(new Error("unused"));
  const first = Promise.resolve(kept(1, "all"));
  const alone = new ServedNetwork({ record, guest: {} as Guest, createGuard, first, report: () => undefined });
  expect(await alone.environment()).toEqual(proxyEnvironment(ID));
  await alone[Symbol.asyncDispose]();
});

it("tells why the first state cannot be read to who asks, and to nobody else", async () => {
  const first = Promise.reject<KeptState>(new Error("EIO"));
  await using served = serve(first);
  await expect(served.network.state()).rejects.toThrow("EIO");
  await served.network.answerClosed();
  expect([served.problems, served.kinds()]).toEqual([[], []]);
});

it("serves nothing after it was let go", async () => {
  const served = serve(kept(1, "all"));
  await served.begun();
  await served.network[Symbol.asyncDispose]();
  await served.network.apply(kept(2, { allow: ["npm"] }));
  expect(served.kinds()).toEqual(["serve", "stop"]);
  const late = serve(new Promise<KeptState>((resolve) => setImmediate(() => resolve(kept(1, "all")))));
  await late.network[Symbol.asyncDispose]();
  await expect(late.network.state()).rejects.toMatchObject({ code: "SANDBOX_ENDED" });
  expect(late.kinds()).toEqual([]);
});
