/** See node-options.js. */
export function servingOptions(version?: string): string[];
