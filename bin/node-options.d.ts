/** See node-options.js. */
export function servingOptions(version?: string): string[];
export const servingEnvironment: Readonly<Record<string, string>>;
