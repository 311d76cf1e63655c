/** Asked for the time where no other server is named. */
export const usualTimeServer = { host: 'time.nist.gov', port: 123 };
