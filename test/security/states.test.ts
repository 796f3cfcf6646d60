import { chown, mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { expect } from "vitest";
import { createSandboxId } from "../../src/sandbox/sandbox-id.ts";
import type { Grants, Principal, Sandbox } from "../../src/sandbox/sandbox.ts";
import { openSecretLab } from "../support/secret-lab.ts";
import { openStateHome, shell } from "../support/state-home.ts";
import { isRoot } from "./support/outside.ts";
import { verifies } from "./verifies.ts";

const soon = (): AbortSignal => AbortSignal.timeout(60_000);
const ALICE: Principal = { id: "alice", name: "alice" };
const BOB: Principal = { id: "bob", name: "bob" };
const inProject = (folder: string): Principal => ({ ...ALICE, project: { folder, sees: "own" } });
const withGrants = (grants: Grants): Principal => ({ ...ALICE, grants });

/** How a call is refused, without the id or name that it was asked with. */
async function refusal(asked: Promise<unknown>, text: string): Promise<string> {
  const error = await asked.then(
    () => "nothing",
    (cause: unknown) => cause as { code: string; message: string },
  );
  return typeof error === "string" ? error : `${error.code} ${error.message.replaceAll(text, "ID")}`;
}

// Strangers, and agents of other projects.
verifies("states-apart", async () => {
  await using home = await openStateHome();
  const { snapshots } = home.sandboxes;
  const owner = inProject("/home/ada/one");
  const { id, timeLine } = await home.sandboxes.create(owner, {}, soon());
  const made = await snapshots.create(owner, id, { name: "of the owner" }, soon());
  const point = await timeLine.checkpoint({}, soon());
  for (const who of [owner, ALICE]) expect((await snapshots.info(who, "of the owner")).id).toBe(made.id);
  for (const who of [BOB, inProject("/home/ada/two")]) {
    const asks: readonly ((text: string) => Promise<unknown>)[] = [
      (text) => snapshots.info(who, text),
      (text) => snapshots.remove(who, text),
      (text) => snapshots.fork(who, { snapshot: text }, {}, soon()),
      (text) => snapshots.fork(who, { sandbox: text }, {}, soon()),
      (text) => snapshots.create(who, text, {}, soon()),
      (text) => home.sandboxes.create(who, { template: text }, soon()),
    ];
    const unknown = createSandboxId();
    for (const ask of asks)
      for (const [theirs, none] of [
        [made.id, unknown],
        [id, unknown],
        ["of the owner", "of no owner!"],
      ] as const)
        expect(await refusal(ask(theirs), theirs)).toBe(await refusal(ask(none), none));
    expect(await snapshots.list(who)).toEqual([]);
    expect(await snapshots.list(who, { sandbox: id })).toEqual([]);
    const own = await home.sandboxes.create(who, {}, soon());
    for (const strange of [made.id, point.id])
      expect(await refusal(own.timeLine.rollback(strange, soon()), strange)).toMatch(/^CHECKPOINT_NOT_FOUND/);
    // A name is taken for its owner alone.
    if (who === BOB) expect((await snapshots.create(who, own.id, { name: "of the owner" }, soon())).owner).toBe("bob");
  }
  expect((await snapshots.list(owner)).map((one) => one.id)).toEqual([made.id]);
});

// A token of the owner's.
verifies("states-apart", async () => {
  await using home = await openStateHome();
  const { snapshots } = home.sandboxes;
  const folder = await realpath(await mkdtemp(`${tmpdir()}/belljar-shown-`));
  try {
    const shown = await home.sandboxes.create(ALICE, { workspace: { path: folder, mode: "ro" }, nestedFilters: true }, soon());
    const plain = await home.sandboxes.create(ALICE, {}, soon());
    const [ofShown, ofPlain] = [await snapshots.create(ALICE, shown.id, {}, soon()), await snapshots.create(ALICE, plain.id, {}, soon())];
    const narrow = withGrants({ limits: { pids: 32 }, quotas: { sandboxes: 3, snapshots: 3 } });
    for (const from of [{ sandbox: shown.id }, { snapshot: ofShown.id }])
      await expect(snapshots.fork(narrow, from, {}, soon())).rejects.toMatchObject({ code: "FORBIDDEN" });
    await expect(snapshots.create(narrow, shown.id, {}, soon())).rejects.toMatchObject({ code: "FORBIDDEN" });
    const anybody: Principal = { ...ALICE, isAnybody: true };
    const again = [
      () => snapshots.fork(anybody, { snapshot: ofShown.id }, {}, soon()),
      () => home.sandboxes.create(anybody, { template: ofShown.id }, soon()),
    ];
    for (const ask of again) await expect(ask()).rejects.toMatchObject({ code: "FORBIDDEN" });
    const [ofOwner] = await snapshots.fork(ALICE, { snapshot: ofShown.id }, {}, soon());
    expect((await ofOwner?.info())?.workspace?.path).toBe(folder);
    await ofOwner?.kill();
    await expect(snapshots.fork(narrow, { snapshot: ofPlain.id }, { limits: { pids: 64 } }, soon())).rejects.toMatchObject({
      code: "FORBIDDEN",
    });
    const limited = snapshots.fork(narrow, { snapshot: ofPlain.id }, {}, soon());
    const [fork] = await limited.catch((cause: unknown) => {
      if ((cause as { code?: string }).code === "LIMIT_UNENFORCEABLE") return [];
      throw cause;
    });
    if (fork) expect((await fork.info()).limits.pids).toBe(32);
    const few = withGrants({ quotas: { sandboxes: 3, snapshots: 3 } });
    await expect(snapshots.fork(few, { snapshot: ofPlain.id }, { count: 2 }, soon())).rejects.toMatchObject({ code: "QUOTA_EXCEEDED" });
    await snapshots.create(few, plain.id, {}, soon());
    await expect(snapshots.create(few, plain.id, {}, soon())).rejects.toMatchObject({ code: "QUOTA_EXCEEDED" });
  } finally {
    await rm(folder, { recursive: true });
  }
});

verifies("forks-without-secrets", async () => {
  await using lab = await openSecretLab();
  const value = "the-value-of-the-secret";
  await lab.store.set("local", "openai", value);
  const api = await lab.https("api.secret.test", (_request, response) => void response.end("answered"));
  const uses = { network: { allow: [api.authority] }, secrets: { API_KEY: { secret: "openai", hosts: [api.authority] } } };
  const parent = await lab.sandbox(uses);
  const ask = (sandbox: Sandbox, key: string): Promise<string> =>
    shell(sandbox, `curl -sS -m 20 -H "Authorization: Bearer ${key}" ${api.url} 2>&1`);
  const heard = (): string | undefined => api.requests.at(-1)?.headers.authorization;
  await shell(parent, "printf %s $API_KEY > kept");
  await parent.registerPort(8080, "public");
  // In the parent it is filled in.
  expect(await ask(parent, "$(cat kept)")).toBe("answered");
  expect(heard()).toBe(`Bearer ${value}`);

  const closed = await lab.fork(parent, {});
  expect(await closed.info()).toMatchObject({ network: "none" });
  expect((await closed.info()).secrets).toBeUndefined();
  expect(await closed.portLinks()).toEqual([]);
  expect(await shell(closed, "echo key:$API_KEY; cat kept")).toMatch(/^key:\nbelljar_secret_/);
  const before = api.requests.length;
  expect(await ask(closed, "$(cat kept)")).not.toBe("answered");
  expect(api.requests).toHaveLength(before);

  const own = await lab.fork(parent, { ...uses, network: { allow: [api.authority] } });
  expect(await shell(own, "test $(cat kept) = $API_KEY || echo differs")).toBe("differs");
  const asked = api.requests.length;
  expect(await ask(own, "$(cat kept)")).toContain("has a placeholder that is not of this sandbox");
  expect(api.requests).toHaveLength(asked);
  expect(api.requests.map(({ headers }) => headers.authorization).filter((one) => one === `Bearer ${value}`)).toHaveLength(1);
  expect(await ask(own, "$API_KEY")).toBe("answered");
  expect(heard()).toBe(`Bearer ${value}`);
  const certificates = await Promise.all([parent, own].map((one) => shell(one, "cat /etc/ssl/certs/belljar-ca.pem")));
  expect(certificates[0]).not.toBe(certificates[1]);
});

/** As root inside, where there is one. */
async function readAll(sandbox: Sandbox, paths: string): Promise<string> {
  const argv = ["sh", "-c", `cd /workspace && cat ${paths} 2>/dev/null`];
  const as = (user: string) => sandbox.guest.run({ argv, user, signal: soon() });
  const { stdout } = await as("root").catch(() => as("user"));
  return stdout.toString();
}

verifies("whole-takes-what-is-seen", async () => {
  await using home = await openStateHome();
  const { snapshots } = home.sandboxes;
  const folder = await realpath(await mkdtemp(`${tmpdir()}/belljar-taken-`));
  try {
    await writeFile(`${folder}/seen`, "seen");
    await writeFile(`${folder}/closed`, "closed", { mode: 0o600 });
    await mkdir(`${folder}/room`, { mode: 0o700 });
    await writeFile(`${folder}/room/in`, "in");
    // The sandbox has the rights of the folder's owner. Here what is closed belongs to the host's root.
    if (isRoot) for (const path of [folder, `${folder}/seen`]) await chown(path, 12_345, 12_345);
    const expected = isRoot ? "seen" : "seenclosedin";
    const sandbox = await home.sandboxes.create(ALICE, { workspace: { path: folder, mode: "copy" } }, soon());
    expect(await readAll(sandbox, "seen closed room/in")).toBe(expected);
    const { id } = await snapshots.create(ALICE, sandbox.id, { whole: true }, soon());
    const [fork] = await snapshots.fork(ALICE, { snapshot: id }, {}, soon());
    expect(await readAll(fork!, "seen closed room/in")).toBe(expected);

    const without = withGrants({});
    for (const ask of [
      () => snapshots.fork(without, { snapshot: id }, {}, soon()),
      () => snapshots.fork(without, { sandbox: fork!.id }, {}, soon()),
      () => home.sandboxes.create(without, { template: id }, soon()),
      () => home.sandboxes.create({ ...ALICE, isAnybody: true }, { template: id }, soon()),
      async () => (await home.sandboxes.get(without, fork!.id)).guest.run({ argv: ["cat", "/workspace/seen"], signal: soon() }),
    ])
      await expect(ask()).rejects.toMatchObject({ code: "FORBIDDEN" });
    const having = withGrants({ workspaces: [{ path: folder, mode: "copy" }] });
    expect(await snapshots.fork(having, { snapshot: id }, {}, soon())).toHaveLength(1);
  } finally {
    await rm(folder, { recursive: true });
  }
});
