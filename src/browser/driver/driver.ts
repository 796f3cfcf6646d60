import { Socket } from "node:net";
import type { DriverOptions } from "../wire.ts";
import { serve } from "./serve.ts";

/**
 * Runs inside a sandbox as its user. Belljar asks it over file descriptor 3, it drives Chromium over a pipe, and nobody else can reach either.
 * It ends with its channel, and Chromium with it.
 */
const options = JSON.parse(process.argv[2] ?? "{}") as DriverOptions;
await serve(new Socket({ fd: 3, readable: true, writable: true }), options);
