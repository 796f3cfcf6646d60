/** What the gateway needs of a logger; pino's has this shape. */
export interface GatewayLog {
  error(fields: Readonly<Record<string, unknown>>, message: string): void;
}
