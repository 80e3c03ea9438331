import { useEffect, useState } from "react";
import { fetchUsers, type User } from "../api";

interface Props {
  title: string;
  onSelect?: (user: User) => void;
}

/** The list of users. */
export function UserList({ title, onSelect }: Props): JSX.Element {
  const [users, setUsers] = useState<User[]>([]);

  useEffect(() => {
    fetchUsers().then(setUsers);
  }, []);

  return (
    <section>
      <Heading level={2}>{title}</Heading>
      {users.map((user) => (
        <UserRow key={user.id} user={user} onClick={() => onSelect?.(user)} />
      ))}
    </section>
  );
}

const UserRow: React.FC<{ user: User; onClick: () => void }> = ({ user, onClick }) => {
  return <li onClick={onClick}>{user.name}</li>;
};

export default UserList;
