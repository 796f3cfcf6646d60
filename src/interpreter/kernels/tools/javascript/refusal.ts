/** Why a code holds no tools that can be stored, for its author. */
export class Refusal extends Error {
  override readonly name = "Refusal";
  /** In the author's code, from 1. */
  readonly line: number | null;

  constructor(message: string, line: number | null) {
    super(message);
    this.line = line;
  }
}
