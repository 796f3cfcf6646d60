/**
 * Prepares global names for a program that declares them.
 * Some of Node's are accessors that take no value: `const navigator = ...` would leave them as they are.
 */
export function freeNames(names: readonly string[]): void {
  for (const name of names) {
    const field = Object.getOwnPropertyDescriptor(globalThis, name);
    if (!field?.configurable || field.set || field.writable) continue;
    Object.defineProperty(globalThis, name, {
      value: Reflect.get(globalThis, name),
      configurable: true,
      writable: true,
      enumerable: false,
    });
  }
}
