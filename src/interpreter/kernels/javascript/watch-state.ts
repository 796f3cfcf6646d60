/** What the kernel and the thread that hears its interrupts share: an array of 32-bit numbers. */
export const PHASE = 0;
/** The run that goes on, or 0. */
export const RUN = 1;
/** The last run that the kernel itself asked the thread to break off. */
export const BREAK = 2;
/** The run that the thread asks leave to break off, the same below zero once it has the leave, or 0. */
export const LEAVE = 3;
export const STATE_BYTES = 16;

/** What the thread is started with. */
export interface WatchData {
  readonly state: Int32Array;
  /** Names the kernel's function that gives leave. */
  readonly giveLeave: string;
}

/** The phases in their order: each side waits for the other's step. */
export const STARTING = 0;
export const LOADED = 1;
export const MAY_LISTEN = 2;
export const LISTENING = 3;
