/** What the kernel and the thread that hears its interrupts share: an array of 32-bit numbers. */
export const PHASE = 0;
/** The run that goes on, or 0. */
export const RUN = 1;
/** The last run that the kernel itself asked the thread to break off. */
export const BREAK = 2;
export const STATE_BYTES = 12;

/** The phases in their order: each side waits for the other's step. */
export const STARTING = 0;
export const LOADED = 1;
export const MAY_LISTEN = 2;
export const LISTENING = 3;
