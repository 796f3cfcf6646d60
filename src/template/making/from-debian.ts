import { once } from "node:events";
import type { Readable } from "node:stream";
import { settleWithin } from "../../async/settle-within.ts";
import { BelljarError } from "../../errors.ts";
import { BARE_BASE, DEFAULT_BASE } from "../../runtime/contract/sandbox-spec.ts";
import type { UnpackedLayer } from "../../runtime/contract/state-store.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import { needStates } from "../../sandbox/state/state-errors.ts";
import { templateUser } from "../../sandbox/template-source.ts";
import { CommandOutput } from "../build/command-output.ts";
import { ROOT } from "../build/root-user.ts";
import { maskOf } from "../build/secret-mask.ts";
import { BUILD_SANDBOX } from "../build/step-sandbox.ts";
import type { DebianOptions } from "../wire/template-schema.ts";
import type { Making, MakingParts, Wish } from "./making.ts";
import { tryTemplate } from "./try-template.ts";
import { type Held, whileHolding } from "./while-holding.ts";

const ENTRIES_MAX = 1_000_000;
/** For the end of a program whose archive was refused: it may be why. */
const EXIT_MS = 2_000;

/**
 * A Debian suite, put together by the host's own `mmdebstrap` in a sandbox on the host's programs, which may reach what the build may. The
 * archive that it writes is unpacked as a layer of an image is.
 */
export async function fromDebian(parts: MakingParts, wish: Wish, debian: DebianOptions): Promise<Making> {
  const runtime = parts.runtimes.choose(wish.principal);
  const states = needStates(runtime);
  await assertReaches(parts, wish);
  return whileHolding(states, templateUser(wish), async (held) => {
    const { maxBytes } = parts;
    const take = (tar: AsyncIterable<Uint8Array>): Promise<UnpackedLayer> =>
      states.unpack({ tar, user: templateUser(wish), maxBytes, maxEntries: ENTRIES_MAX }, wish.signal);
    const { layer, bytes } = await inBase(parts, wish, (sandbox) => bootstrap(sandbox, wish, { debian, held, take }));
    await states.flushLayers([layer], wish.signal);
    const { suite, packages = [] } = debian;
    const source = { kind: "debian", suite, packages } as const;
    const made = { source, runtime: runtime.name, base: BARE_BASE.template, layers: [layer], bytes, env: {}, user: ROOT };
    return tryTemplate(parts, wish, { ...made, command: [] });
  });
}

/** Else apt would try for a while, and then speak of names that cannot be resolved. */
async function assertReaches({ sandboxes }: MakingParts, { principal, options }: Wish): Promise<void> {
  const { policy } = await sandboxes.networkOf(principal, options.network);
  if (policy !== "none") return;
  throw new BelljarError(
    "ARGUMENTS_INVALID",
    "A Debian suite comes from a mirror, and this template may reach nothing: name a network, such as deb.debian.org,security.debian.org",
  );
}

async function inBase<T>({ sandboxes }: MakingParts, { principal, options, signal }: Wish, work: (sandbox: Sandbox) => Promise<T>) {
  const { network } = options;
  const wished = { ...BUILD_SANDBOX, template: DEFAULT_BASE.template, ...(network !== undefined && { network }) };
  const sandbox = await sandboxes.create(principal, wished, signal);
  try {
    return await work(sandbox);
  } finally {
    await sandbox.kill();
  }
}

interface Bootstrap {
  readonly debian: DebianOptions;
  readonly held: Held;
  readonly take: (tar: AsyncIterable<Uint8Array>) => Promise<UnpackedLayer>;
}

/** An archive that ends too early does so because the program failed, which is what is told then. */
async function bootstrap(sandbox: Sandbox, { log, signal }: Wish, { debian, held, take }: Bootstrap): Promise<UnpackedLayer> {
  const output = new CommandOutput(log, maskOf({}));
  await using process = await start(sandbox, debian, signal);
  process.stderr.on("data", (chunk: Buffer) => output.add(chunk));
  await begins(process.stdout, signal);
  const unpacked = await take(process.stdout as AsyncIterable<Uint8Array>).catch((cause: unknown) => ({ cause }));
  if ("layer" in unpacked) held([unpacked.layer]);
  const exit = "layer" in unpacked ? await process.exited : await settleWithin(process.exited, { timeoutMs: EXIT_MS, signal });
  output.end();
  if (exit !== "late" && exit.exitCode !== 0)
    throw new BelljarError("COMMAND_FAILED", `mmdebstrap failed with ${exit.signal ?? `exit code ${exit.exitCode}`}; ${output.told}`);
  if ("layer" in unpacked) return unpacked;
  throw unpacked.cause;
}

/** The archive comes at the end of the work, which may take longer than whoever unpacks waits for an archive that says nothing. */
async function begins(archive: Readable, signal: AbortSignal): Promise<void> {
  await once(archive, "readable", { signal }).catch(() => undefined); // whoever reads it is told
}

async function start({ guest }: Sandbox, { suite, packages = [], mirror }: DebianOptions, signal: AbortSignal) {
  const include = packages.length > 0 ? [`--include=${packages.join(",")}`] : [];
  const argv = ["mmdebstrap", "--variant=minbase", "--mode=root", ...include, suite, "-", ...(mirror === undefined ? [] : [mirror])];
  try {
    return await guest.exec({ argv, cwd: "/tmp", user: ROOT, stdin: false, signal });
  } catch (cause) {
    if (!(cause instanceof BelljarError) || cause.code !== "COMMAND_NOT_FOUND") throw cause;
    throw new BelljarError(
      "NOT_SUPPORTED",
      "A Debian suite is put together by mmdebstrap, which the machine of the home has not: install it there, as with `apt install mmdebstrap`",
      { cause },
    );
  }
}
