package ext4

// Extended attributes with an ACL, which are stored in another form than
// getxattr(2) returns.
const (
	aclAccess  = "system.posix_acl_access"
	aclDefault = "system.posix_acl_default"
)

// Tags of the entries of an ACL, ACL_* in the kernel's posix_acl.h: those of the
// owner, the owning group, the mask and others have no ID.
const (
	aclUserObj  = 0x01
	aclUser     = 0x02
	aclGroupObj = 0x04
	aclGroup    = 0x08
	aclMask     = 0x10
	aclOther    = 0x20
)

// aclToXattr turns a stored ACL (fs/ext4/acl.h) into the attribute that it
// appears as (linux/posix_acl_xattr.h).
func aclToXattr(in *inode, b []byte) ([]byte, error) {
	const (
		storedVersion = 1
		xattrVersion  = 2
		noID          = 0xFFFFFFFF
	)
	if len(b) < 4 || le.Uint32(b) != storedVersion {
		return nil, in.damaged("an ACL of %d bytes has no header", len(b))
	}
	out := le.AppendUint32(nil, xattrVersion)
	for b = b[4:]; len(b) > 0; {
		if len(b) < 4 {
			return nil, in.damaged("an ACL ends within an entry")
		}
		tag, permissions, id := le.Uint16(b), le.Uint16(b[2:]), uint32(noID)
		b = b[4:]
		switch tag {
		case aclUserObj, aclGroupObj, aclMask, aclOther:
		case aclUser, aclGroup:
			if len(b) < 4 {
				return nil, in.damaged("an ACL ends within an entry")
			}
			id = le.Uint32(b)
			b = b[4:]
		default:
			return nil, in.damaged("an ACL has an entry of type %#x", tag)
		}
		out = le.AppendUint16(out, tag)
		out = le.AppendUint16(out, permissions)
		out = le.AppendUint32(out, id)
	}
	return out, nil
}
