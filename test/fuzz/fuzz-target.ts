/** A reader of what strangers wrote, and what it promises about every input. */
export interface FuzzTarget {
  /** Well-formed inputs, which the fuzzer starts from beside the kept corpus. */
  readonly seeds: readonly (string | Uint8Array)[];
  /** Words of the format that random changes would take long to find. */
  readonly words?: readonly (string | Uint8Array)[];
  /** Builds what the inputs go to; disposed at the end. */
  open(): Promise<OpenFuzzTarget>;
}

export interface OpenFuzzTarget extends AsyncDisposable {
  /** Throws when a promise is broken. An input that is refused as foreseen is no finding. */
  run(input: Buffer): void | Promise<void>;
}

/** A target that is a function alone. */
export function pureTarget(target: Omit<FuzzTarget, "open"> & Pick<OpenFuzzTarget, "run">): FuzzTarget {
  const { run, ...rest } = target;
  return { ...rest, open: async () => ({ run, [Symbol.asyncDispose]: async () => {} }) };
}
