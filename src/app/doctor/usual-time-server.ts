/** The default time server. */
export const usualTimeServer = { host: 'time.nist.gov', port: 123 };
