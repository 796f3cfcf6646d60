import type { AnyHandler } from "../handler.ts";
import { evaluate } from "./evaluate.ts";
import { navigate } from "./navigate.ts";

/** One for each action. */
export const HANDLERS: readonly AnyHandler[] = [navigate, evaluate];
