import { createGuest } from "../../src/runtime/guest/create-guest.ts";
import type { Guest } from "../../src/runtime/guest/guest.ts";
import type { RunningSandbox } from "../../src/runtime/contract/run.ts";
import type { Runtime } from "../../src/runtime/contract/runtime.ts";
import type { FrozenState, StateStore, StateView } from "../../src/runtime/contract/state-store.ts";
import { type ContractSandbox, run, soon } from "../contract/contract-sandbox.ts";
import { type Home, makeHome } from "./namespace-home.ts";

const USER = "raised";

/** What a script says, which succeeds. */
export async function tell(guest: Guest, script: string): Promise<string> {
  const { stdout, stderr, exitCode } = await run(guest, script);
  return stdout.toString() + (exitCode === 0 ? "" : `failed: ${stderr.toString()}`);
}

export function guestOf(running: RunningSandbox): Guest {
  return createGuest((signal) => running.connect(signal), { ended: running.ended });
}

export function viewOf({ spec }: ContractSandbox, frozen?: FrozenState): StateView {
  return { sandbox: { ...spec, template: spec.base.template }, ...(frozen && { layers: frozen.layers }) };
}

export interface RaiseLab extends AsyncDisposable {
  readonly home: Home;
  readonly runtime: Runtime;
  readonly states: StateStore;
  readonly open: () => Promise<Runtime>;
  readonly freeze: (sandbox: ContractSandbox, more?: { readonly generation: number }) => Promise<FrozenState>;
  /** For other sandboxes. */
  readonly copy: (sandbox: ContractSandbox) => Promise<FrozenState & AsyncDisposable>;
  /** Of all that was frozen. */
  readonly letGo: () => Promise<void>;
  readonly tell: (from: StateView, to: StateView) => Promise<readonly string[]>;
}

/** A home with sandboxes whose checkpoints are raises. */
export async function openRaiseLab(storage: "home" | "tmpfs"): Promise<RaiseLab> {
  const home = await makeHome();
  const runtime = await home.open(storage);
  const { states } = runtime.layers;
  if (!states) throw new Error("this runtime freezes nothing");
  const held: FrozenState[] = [];
  const request = { isRunning: true, durable: false, user: USER };
  const letGo = async (): Promise<void> => {
    for (const { layers } of held) await states.letGo(layers, USER);
  };
  return {
    home,
    runtime,
    states,
    open: async () => runtime,
    async freeze({ spec }, more) {
      const frozen = await states.freeze({ ...request, run: { ...spec, ...more }, isOwn: true }, soon());
      held.push(frozen);
      return frozen;
    },
    async copy({ spec }) {
      const frozen = await states.freeze({ ...request, run: spec, isOwn: false }, soon());
      return { ...frozen, [Symbol.asyncDispose]: () => states.letGo(frozen.layers, USER) };
    },
    async tell(from, to) {
      const changes: string[] = [];
      for await (const { path, before, after } of states.compare(from, to, soon()))
        if (path.toString().startsWith("/home/user/"))
          changes.push(`${before ? (after ? "changed" : "removed") : "added"} ${path.toString()}`);
      return changes.toSorted();
    },
    letGo,
    async [Symbol.asyncDispose]() {
      await letGo();
      await home[Symbol.asyncDispose]();
    },
  };
}
