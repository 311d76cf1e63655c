/** See node-options.js. */
export function servingOptions(version?: string, memoryBytes?: number): string[];
export const servingEnvironment: Readonly<Record<string, string>>;
export const loadingEnvironment: Readonly<Record<string, string>>;
